import type { Agent } from '../../define/agent.ts'
import type { UserPart } from '../../log/events.ts'
import type { ConversationState, TurnState } from '../../log/state.ts'
import { type Reduction, visibleTurns } from '../render/reduction.ts'
import { renderCallOutput } from '../render/render-call-output.ts'
import { countParts, countTools, type Tokenizer } from './count-tokens.ts'

type Part = { readonly name: string; readonly tokens: number }

export type PromptContents = {
  readonly state: ConversationState
  readonly agent: Pick<Agent, 'tools'>
  readonly system: string
  readonly injections: readonly UserPart[]
  readonly reduction: Reduction
}

/** What takes most room in a prompt, named so that somebody can find it. */
export function biggestParts(contents: PromptContents, tokenizer: Tokenizer, most = 3): string[] {
  const { state, agent, system, injections, reduction } = contents
  const parts: Part[] = [
    { name: 'the instructions', tokens: tokenizer(system) },
    { name: `the descriptions of ${agent.tools.length} tools`, tokens: countTools(agent.tools, tokenizer) },
    { name: 'the summary', tokens: tokenizer(reduction.summary?.text ?? '') },
    { name: 'the injections of this call', tokens: countParts(injections, tokenizer) },
    ...visibleTurns(state.turns, reduction).flatMap((turn) => partsOfTurn(turn, reduction, tokenizer)),
  ]
  const biggest = parts.toSorted((left, right) => right.tokens - left.tokens).slice(0, most)
  return biggest.filter(({ tokens }) => tokens > 0).map(({ name, tokens }) => `${name}: ${tokens} tokens`)
}

function partsOfTurn({ items, calls }: TurnState, { stubbed }: Reduction, tokenizer: Tokenizer): Part[] {
  const said = items.map((item): Part => {
    if (item.type === 'user') return { name: `message ${item.seq}`, tokens: countParts(item.message.parts, tokenizer) }
    if (item.type === 'injection')
      return { name: `injection ${item.seq} of '${item.hook}'`, tokens: countParts(item.parts, tokenizer) }
    return { name: `answer ${item.seq}`, tokens: tokenizer(JSON.stringify(item.parts)) }
  })
  const kept = calls.filter((call) => !stubbed.has(call.callId))
  const results = kept.flatMap((call): Part[] => [
    { name: `arguments of '${call.name}' (${call.callId})`, tokens: tokenizer(JSON.stringify(call.args)) },
    { name: `result of '${call.name}' (${call.callId})`, tokens: tokenizer(JSON.stringify(renderCallOutput(call))) },
  ])
  return [...said, ...results]
}
