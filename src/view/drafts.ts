import type { LiveEvent } from './live-event.ts'
import type { Draft, DraftPart } from './view.ts'

export type DeltaEvent = Extract<LiveEvent, { type: 'text_delta' | 'reasoning_delta' | 'tool_input_delta' }>

/** Text is shown as it comes, whatever else comes with it. */
export function isTextDelta(event: { readonly type: string }): boolean {
  return event.type === 'text_delta' || event.type === 'reasoning_delta'
}

export function isDelta(event: { readonly type: string }): event is DeltaEvent {
  return isTextDelta(event) || event.type === 'tool_input_delta'
}

/**
 * Adds a delta to the message it belongs to. Deltas of one message come in order; one that is there already, or that follows one that is
 * not, changes nothing.
 */
export function appendDelta(drafts: readonly Draft[], event: DeltaEvent): readonly Draft[] {
  const { turnId, messageId, n } = event
  const known = drafts.find((draft) => draft.messageId === messageId)
  if (n !== (known?.n ?? 0) + 1) return drafts
  const draft: Draft = { turnId, messageId, n, parts: appended(known?.parts ?? [], pieceOf(event)) }
  return known ? drafts.map((candidate) => (candidate === known ? draft : candidate)) : [...drafts, draft]
}

function pieceOf(event: DeltaEvent): DraftPart {
  if (event.type === 'tool_input_delta')
    return { type: 'tool_input', part: event.callId, text: event.delta, name: event.name }
  return { type: event.type === 'text_delta' ? 'text' : 'reasoning', part: event.part, text: event.delta }
}

function appended(parts: readonly DraftPart[], piece: DraftPart): DraftPart[] {
  const last = parts.at(-1)
  if (last?.type !== piece.type || last.part !== piece.part) return [...parts, piece]
  return [...parts.slice(0, -1), { ...last, text: last.text + piece.text }]
}
