import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { z } from 'zod'
import { type AgentAttributes, defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

export type BusyAgentOptions = {
  /** Counts a prompt as the provider would; reported as usage. */
  readonly countTokens?: (prompt: LanguageModelV4Prompt) => number
  readonly context?: AgentAttributes['context']
  readonly onCall?: (prompt: LanguageModelV4Prompt) => void
}

/**
 * A support agent at work: in every turn it looks up an order and its customer, at once, and answers. Each tenth order has a long history. Keeps
 * the default settings, so 30,000 tokens of which 4,000 are for injections.
 */
export function busyAgent({ countTokens, context, onCall }: BusyAgentOptions = {}) {
  let turns = 0
  const model = scriptedModel(({ prompt }) => {
    onCall?.(prompt)
    const usage = { usage: { inputTokens: countTokens?.(prompt) ?? 10, outputTokens: 40 } }
    if (prompt.at(-1)?.role === 'tool')
      return {
        text: `Order ${turns} is on its way; the customer can expect it on Thursday. I have noted that on the ticket.`,
        ...usage,
      }
    turns += 1
    const calls = [
      { tool: 'order', args: { orderId: `A-${10_000 + turns}` } },
      { tool: 'customer', args: { customerId: `C-${(turns * 7) % 500}` } },
    ]
    return { calls, ...usage }
  })
  const order = defineTool({
    name: 'order',
    description: 'Look up an order',
    input: z.object({ orderId: z.string() }),
    run: ({ orderId }) => ({ orderId, status: 'shipped', cents: 1_999, history: historyOf(orderId) }),
  })
  const customer = defineTool({
    name: 'customer',
    description: 'Look up a customer',
    input: z.object({ customerId: z.string() }),
    run: ({ customerId }) => ({ customerId, name: 'Ann Smith', city: 'Rome', since: 2019 }),
  })
  const summaries = scriptedModel(
    ({ n }) => `Summary ${n}. ${'The agent looked up orders and told customers when to expect them. '.repeat(25)}`,
  )
  return defineAgent({
    name: 'support',
    model,
    instructions: 'You work on tickets of a shop. Look up the order and the customer before you answer. Be brief.',
    tools: [order, customer],
    context: { ...context, summarise: { model: summaries } },
  })
}

function historyOf(orderId: string): string[] {
  const length = orderId.endsWith('0') ? 60 : 12
  return Array.from({ length }, (_, n) => `2026-03-${String(1 + (n % 28)).padStart(2, '0')}: left the depot`)
}
