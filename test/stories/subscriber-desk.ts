import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import {
  defineSubscriber,
  type SubscriberEvent,
  type SubscriberOptions,
  type SubscriberTopic,
} from '../../src/define/define-subscriber.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

export const quick = { retry: { baseMs: 5, maxMs: 20 } } satisfies SubscriberOptions

/** Remembers what it was told, and fails where asked to. */
export function listener(
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

export const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  describe: ({ cents }) => `Pay ${cents} cents back`,
  run: async () => 'paid',
})

export function desk(texts: Parameters<typeof scriptedModel>[0] = Array.from({ length: 50 }, () => 'hello')) {
  return defineAgent({ name: 'desk', model: scriptedModel(texts), tools: [refund] })
}
