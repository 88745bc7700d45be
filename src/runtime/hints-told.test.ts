import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { defineAgent } from '../define/define-agent.ts'
import { defineFlow } from '../define/define-flow.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { createRuntime } from './create-runtime.ts'

const ask = defineFlow({ name: 'ask', version: 1, run: (flow) => flow.suspend('go?') })
const tell = defineFlow({
  name: 'tell',
  version: 1,
  run: async (flow) => (await flow.agent('talker', { message: 'hi' })).text,
})

/** By a clock that stands still: nothing is found by polling, and what happens is due to a hint. */
function nodes() {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const talker = defineAgent({ name: 'talker', model: scriptedModel('Hello.') })
  const shared = { agents: [talker], flows: [ask, tell], store, clock, logger: silentLogger }
  const worker = createRuntime(shared)
  const front = createRuntime({ ...shared, work: false })
  return { worker, front, close: () => Promise.all([worker.close({ drainMs: 0 }), front.close({ drainMs: 0 })]) }
}

test('a hint lets a worker find a session, and tells callers that wait for it elsewhere', async () => {
  const { front, close } = nodes()
  const session = front.flow(ask, 's1')
  await session.start(null)
  expect(await session.outcome()).toEqual({ status: 'waiting', tag: 'go?' })
  await session.resume(7)
  expect(await session.outcome()).toEqual({ status: 'done', result: 7 })
  await close()
})

test('a hint tells callers that wait for a turn, or watch a conversation, elsewhere', async () => {
  const { front, close } = nodes()
  const chat = front.conversation('c1', { agent: 'talker' })
  const seen: string[] = []
  const turn = await chat.send('Hi')
  for await (const event of chat.watch()) {
    seen.push(event.type)
    if (event.type === 'turn_ended' || (event.type === 'snapshot' && event.view.phase === 'idle')) break
  }
  expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Hello.' })
  expect(seen[0]).toBe('snapshot')
  await close()
})

test('a hint wakes a session whose agent has ended its turn', async () => {
  const { worker, close } = nodes()
  expect(await worker.flow(tell, 's1').start(null)).toEqual({ status: 'done', result: 'Hello.' })
  await close()
})
