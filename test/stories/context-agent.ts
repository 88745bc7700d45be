import { z } from 'zod'
import type { ContextAttributes } from '../../src/define/agent.ts'
import { type AgentAttributes, defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

type Options = {
  /** How many tokens, about, a result has. */
  readonly tokens?: number
  readonly context?: ContextAttributes
} & Partial<Pick<AgentAttributes, 'audit' | 'hooks' | 'instructions' | 'title' | 'retry'>>

/** Looks something up in every turn, and remembers with little room: 1,000 tokens, unless told otherwise. */
export function lookupAgent({ tokens = 60, context, ...more }: Options = {}) {
  const model = scriptedModel(({ prompt, n }) =>
    prompt.findLast((message) => message.role !== 'user')?.role === 'tool'
      ? `That was answer ${n}.`
      : { calls: [{ tool: 'look', args: { n } }] },
  )
  const look = defineTool({
    name: 'look',
    description: 'Look it up',
    input: z.object({ n: z.number() }),
    run: ({ n }) => `${n}: ${'word '.repeat(tokens)}`,
  })
  const agent = defineAgent({
    name: 'lookup',
    model,
    tools: [look],
    context: { workingBudget: 1_000, injectionReserve: 0, ...context },
    ...more,
  })
  return { agent, model }
}

/** Says so many things, one after the other. */
export async function talk(chat: Pick<Conversation, 'send'>, turns: number, from = 1): Promise<void> {
  for (let n = from; n < from + turns; n++) {
    const turn = await chat.send(`Please look up number ${n}.`)
    const outcome = await turn.outcome()
    if (outcome.status !== 'completed') throw new Error(`turn ${n} is ${JSON.stringify(outcome)}`)
  }
}
