import { expect, test } from 'vitest'
import { said } from '../../test/log/story.ts'
import { silentLogger } from '../base/logger.ts'
import { defineAgent } from '../define/define-agent.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { createRuntime } from './create-runtime.ts'

test('a conversation that is to go on is due at once, also where this process does no work', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  await store.commit('chat', { events: [said('t1')], conversation: { agent: 'support' }, wakeAt: null })
  const agents = [defineAgent({ name: 'support', model: scriptedModel('Hello.') })]
  const runtime = createRuntime({ agents, store, clock, logger: silentLogger, work: false })
  const due = async () => (await store.dueWork({ agents: ['support'], limit: 10 })).map(({ id }) => id)
  expect(await due()).toEqual([])
  await runtime.conversation('chat').continue()
  expect(await due()).toEqual(['chat'])
  await runtime.close()
  await store.close()
})
