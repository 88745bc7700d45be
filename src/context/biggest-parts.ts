import type { ConversationState } from '../log/state.ts'
import type { Tokenizer } from './count-tokens.ts'
import { countParts } from './count-tokens.ts'
import type { Reduction } from './reduction.ts'
import { renderCallOutput } from './render-call-output.ts'
import { isInWindow } from './window.ts'

/** What takes most room in a prompt, named so that somebody can find it in the log. */
export function biggestParts(state: ConversationState, reduction: Reduction, tokenizer: Tokenizer, most = 3): string[] {
  const parts: { name: string; tokens: number }[] = []
  for (const turn of state.turns) {
    if (!turn.opened || !isInWindow(turn, reduction)) continue
    for (const item of turn.items) {
      if (item.type === 'user')
        parts.push({ name: `message ${item.seq}`, tokens: countParts(item.message.parts, tokenizer) })
      if (item.type === 'injection')
        parts.push({ name: `injection of '${item.hook}'`, tokens: countParts(item.parts, tokenizer) })
      if (item.type === 'assistant')
        parts.push({ name: `answer ${item.seq}`, tokens: tokenizer(JSON.stringify(item.parts)) })
    }
    for (const call of turn.calls) {
      if (reduction.stubbed.has(call.callId)) continue
      parts.push({
        name: `result of '${call.name}' (${call.callId})`,
        tokens: tokenizer(JSON.stringify(renderCallOutput(call))),
      })
    }
  }
  const biggest = parts.toSorted((left, right) => right.tokens - left.tokens).slice(0, most)
  return biggest.map(({ name, tokens }) => `${name}: ${tokens} tokens`)
}
