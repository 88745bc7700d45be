import { callEnd } from '../log/call-phase.ts'
import type { AssistantItem, CallState, TurnState } from '../log/state.ts'
import { orderedItems } from './ordered-items.ts'

const longestResult = 4_000

/** Turns as plain text, for a model that is to sum them up. */
export function transcript(turns: readonly TurnState[]): string {
  return turns
    .filter((turn) => turn.opened)
    .flatMap(linesOf)
    .join('\n')
}

function linesOf(turn: TurnState): string[] {
  return orderedItems(turn).flatMap((item) => {
    if (item.type === 'user') return [`User: ${textOf(item.message.parts)}`]
    if (item.type === 'injection') return []
    return item.regeneration ? [] : assistantLines(item, turn.calls)
  })
}

function assistantLines(item: AssistantItem, calls: readonly CallState[]): string[] {
  const text = textOf(item.parts)
  const said = text === '' ? [] : [`Assistant: ${text}${item.status === 'complete' ? '' : ` [${item.status}]`}`]
  const called = item.parts.flatMap((part) => {
    const call = part.type === 'call' ? calls.find((candidate) => candidate.callId === part.callId) : undefined
    return call ? [`Tool ${call.name}(${cut(JSON.stringify(call.args))}): ${cut(JSON.stringify(callEnd(call)))}`] : []
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

function cut(text: string): string {
  return text.length <= longestResult ? text : `${text.slice(0, longestResult)}…`
}
