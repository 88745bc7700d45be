import { encode, jsonText } from '../../log/codec.ts'
import { type ConversationState, openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { WatchEvent } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { trimView } from '../../view/view-of.ts'

const encoder = new TextEncoder()

/** Encodes one event as a server-sent event. All clients get the same bytes. */
export function frameOf(event: WatchEvent, cursor: Cursor): Uint8Array {
  return encoder.encode(`id: ${formatCursor(cursor)}\ndata: ${dataOf(event)}\n\n`)
}

const minBytes = 4 * 1024

/** A snapshot frame of at most `maxFrameBytes`. A larger view is cut to its newest messages. */
export function snapshotFrame(view: View, cursor: Cursor, maxFrameBytes: number): Uint8Array {
  // A view contains its data several times.
  for (let maxBytes = maxFrameBytes / 4; ; maxBytes /= 2) {
    const frame = frameOf({ type: 'snapshot', view: trimView(view, maxBytes) }, cursor)
    if (frame.byteLength <= maxFrameBytes || maxBytes < minBytes) return frame
  }
}

export const heartbeat = encoder.encode(':\n\n')

/** Tells clients how long to wait before they reconnect. */
export const greeting = encoder.encode('retry: 1000\n\n')

function dataOf(event: WatchEvent): string {
  if (event.type === 'snapshot') return jsonText(event)
  return 'content' in event ? encode(event) : JSON.stringify(event)
}

/**
 * How far a client has read, sent as the id of each server-sent event: the log up to `seq`, the message being written
 * up to so many characters, and the index of the event in its feed. When the feed is gone, the first two still say where to
 * continue.
 */
export type Cursor = {
  readonly seq: number
  /** When the event at `seq` was appended. A different time means a different log under the same id. */
  readonly at: number | null
  readonly draft: { readonly messageId: string; readonly characters: number } | null
  readonly place: { readonly feed: string; readonly index: number } | null
}

function formatCursor({ seq, at, draft, place }: Cursor): string {
  const time = at === null ? '' : `-${at.toString(36)}`
  const written = draft ? `~${draft.messageId}~${draft.characters}` : ''
  return `${seq}${time}${written}${place ? `@${place.feed}.${place.index}` : ''}`
}

/** Null when the text is not a cursor. A bare seq is valid. */
export function parseCursor(text: string): Cursor | null {
  const match = pattern.exec(text)
  if (!match) return null
  const [, seq, at, messageId, characters, feed, index] = match
  return {
    seq: Number(seq),
    at: at === undefined ? null : Number.parseInt(at, 36),
    draft: messageId === undefined ? null : { messageId, characters: Number(characters) },
    place: feed === undefined ? null : { feed, index: Number(index) },
  }
}

const pattern = /^(\d{1,15})(?:-([0-9a-z]{1,9}))?(?:~([\w-]{1,64})~(\d{1,15}))?(?:@([0-9a-z]{1,16})\.(\d{1,15}))?$/

/** Page size, which bounds what waits for a slow client. */
const page = { limit: 200, maxBytes: 256 * 1024 }

/**
 * What a client missed when its place is no longer in the feed: the withdrawal of a draft that is gone, the log since
 * the cursor, and a snapshot of at most `maxFrameBytes` if anything is live. `view` and `now` must belong to the same
 * moment; the feed has everything after it.
 */
export async function* catchUp(
  conversation: Pick<Conversation, 'events'>,
  cursor: Cursor,
  view: View,
  now: Cursor,
  maxFrameBytes: number,
): AsyncGenerator<Uint8Array, void, void> {
  const { conversationId } = view
  const [behind, written] = [{ ...cursor, draft: null, place: null }, cursor.draft?.messageId]
  if (written !== undefined && !isKnown(view, written)) {
    const turnId = (openTurn(view.log) ?? view.log.turns.at(-1))?.turnId ?? ''
    const event = { type: 'message_discarded' as const, conversationId, seq: cursor.seq, turnId, messageId: written }
    yield frameOf(event, behind)
  }
  for (let after = cursor.seq; after < view.seq; ) {
    const events = await conversation.events({ ...page, after, before: view.seq + 1 })
    // The conversation was deleted meanwhile. The feed reports it.
    if (events.length === 0) break
    for (const event of events) yield frameOf(event, { ...behind, seq: event.seq, at: event.at })
    after = events.at(-1)!.seq
  }
  if (cursor.place || isLive(view)) yield snapshotFrame(view, now, maxFrameBytes)
}

/** The message is still being written, or is in the log. */
function isKnown({ drafts, log }: View, messageId: string): boolean {
  return hasMessage(log, messageId) || drafts.some((draft) => draft.messageId === messageId)
}

export function hasMessage(log: ConversationState, messageId: string): boolean {
  return log.turns.some(({ items }) => items.some((item) => item.type === 'assistant' && item.messageId === messageId))
}

function isLive({ drafts, activity, progress, children }: View): boolean {
  return drafts.length > 0 || activity !== null || Object.keys(progress).length > 0 || children.pending.length > 0
}
