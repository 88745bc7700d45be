import { callEnd } from '../../log/call-phase.ts'
import type { AssistantItem, CallState, TurnState } from '../../log/state.ts'
import { callLine, orderedItems } from './render-turn.ts'

/** How much of each part is included, tried in this order until everything fits. */
const lengths = [4_000, 1_000, 200, 50]

/** Turns as plain text, for a model that summarises or names them. At most `maxCharacters` long. */
export function transcript(turns: readonly TurnState[], maxCharacters = Number.POSITIVE_INFINITY): string {
  const opened = turns.filter((turn) => turn.opened)
  let text = ''
  for (const length of lengths) {
    text = opened.flatMap((turn) => linesOf(turn, length)).join('\n')
    if (text.length <= maxCharacters) return text.toWellFormed()
  }
  return cut(text, maxCharacters).toWellFormed()
}

function linesOf(turn: TurnState, length: number): string[] {
  const withdrawn = turn.replaced?.calls ?? []
  const before = withdrawn.map((call) => `Tool, in an attempt that the user has replaced: ${callLine(call, length)}`)
  const said = orderedItems(turn).flatMap((item) => {
    if (item.type === 'user') return [`User: ${cut(textOf(item.message.parts), 4 * length)}`]
    if (item.type === 'injection') return []
    return item.regeneration ? [] : assistantLines(item, turn.calls, length)
  })
  return [...before, ...said]
}

function assistantLines(item: AssistantItem, calls: readonly CallState[], length: number): string[] {
  const text = cut(textOf(item.parts), 4 * length)
  const said = text === '' ? [] : [`Assistant: ${text}${item.status === 'complete' ? '' : ` [${item.status}]`}`]
  const called = item.parts.flatMap((part) => {
    const call = part.type === 'call' ? calls.find((candidate) => candidate.callId === part.callId) : undefined
    if (!call) return []
    const args = cut(JSON.stringify(call.args), length)
    return [`Tool ${call.name}(${args}): ${cut(JSON.stringify(callEnd(call)), length)}`]
  })
  return [...said, ...called]
}

function textOf(
  parts: readonly { readonly type: string; readonly text?: string; readonly mediaType?: string }[],
): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.text ?? ''
      return part.type === 'file' ? `[file ${part.mediaType ?? ''}]` : ''
    })
    .join('')
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}
