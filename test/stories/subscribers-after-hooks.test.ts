import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { afterHook } from '../../src/define/define-subscriber.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { desk, quick } from './subscriber-desk.ts'
import { until } from './until.ts'

overStores('after-hooks', ({ start }) => {
  test('get the messages of their own agent after the commit, and cannot change them', async () => {
    const seen: string[] = []
    const problems: unknown[] = []
    const memory = afterHook(
      'memory',
      (message) => {
        seen.push(
          `${message.conversationId} ${message.text} ${Object.isFrozen(message)} ${Object.isFrozen(message.parts)}`,
        )
        try {
          Object.assign(message, { text: 'other' })
        } catch (error) {
          problems.push(error)
        }
      },
      quick,
    )
    const own = defineAgent({ name: 'own', model: scriptedModel(['mine']), hooks: [memory] })
    const runtime = start({ agents: [own, desk()] })
    await (await runtime.conversation('theirs', { agent: 'desk' }).send('hi')).outcome()
    await (await runtime.conversation('ours', { agent: 'own' }).send('hi')).outcome()
    await until(() => seen.length === 1)
    expect(seen).toEqual(['ours mine true true'])
    expect(problems).toHaveLength(1)
    expect(await runtime.subscribers()).toMatchObject([{ name: 'own/memory', agent: 'own', types: ['assistant_msg'] }])
  })
})
