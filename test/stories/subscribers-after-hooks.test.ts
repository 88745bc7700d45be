import { expect, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { halt, postHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import {
  afterHook,
  defineSubscriber,
  type SubscriberEvent,
  type SubscriberOptions,
  type SubscriberTopic,
} from '../../src/define/define-subscriber.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver, memoryStore } from '../../src/store/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import { childTool } from './child-agents.ts'
import { flakyStore } from './flaky-store.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const quick = { retry: { baseMs: 5, maxMs: 20 } } satisfies SubscriberOptions

/** Remembers what it was told, and fails where asked to. */
function listener(
  on: readonly SubscriberTopic[],
  options: SubscriberOptions & {
    readonly name?: string
    readonly fails?: (event: SubscriberEvent, attempt: number) => boolean
  } = {},
) {
  const { name = 'listener', fails = () => false, ...rest } = options
  const told: SubscriberEvent[] = []
  const attempts: string[] = []
  const subscriber = defineSubscriber({
    ...{ name, on, ...quick, ...rest },
    run(event, { attempt }) {
      attempts.push(`${event.conversationId} ${event.seq} ${attempt}`)
      if (fails(event, attempt)) throw new Error('the receiver is away')
      told.push(event)
    },
  })
  return { subscriber, told, attempts }
}

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  describe: ({ cents }) => `Pay ${cents} cents back`,
  run: async () => 'paid',
})

function desk(texts: Parameters<typeof scriptedModel>[0] = Array.from({ length: 50 }, () => 'hello')) {
  return defineAgent({ name: 'desk', model: scriptedModel(texts), tools: [refund] })
}

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
