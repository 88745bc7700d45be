import { encode } from '../../log/codec.ts'
import { openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { WatchEvent } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { trimView } from '../../view/view-of.ts'
import { jsonText } from '../answer.ts'

const encoder = new TextEncoder()

/** One event as it goes over the wire, whoever it goes to. */
export function frameOf(event: WatchEvent, cursor: Cursor): Uint8Array {
  return encoder.encode(`id: ${formatCursor(cursor)}\ndata: ${dataOf(event)}\n\n`)
}

const leastBytes = 4 * 1024

/** A snapshot in a frame of no more than so many bytes: of a view that is larger, its newest messages. */
export function snapshotFrame(view: View, cursor: Cursor, mostBytes: number): Uint8Array {
  // A view holds what it shows several times.
  for (let maxBytes = mostBytes / 4; ; maxBytes /= 2) {
    const frame = frameOf({ type: 'snapshot', view: trimView(view, maxBytes) }, cursor)
    if (frame.byteLength <= mostBytes || maxBytes < leastBytes) return frame
  }
}

export const heartbeat = encoder.encode(':\n\n')

/** Tells clients how soon to come back. */
export const greeting = encoder.encode('retry: 1000\n\n')

function dataOf(event: WatchEvent): string {
  if (event.type === 'snapshot') return jsonText(event)
  return 'content' in event ? encode(event) : JSON.stringify(event)
}

/**
 * How far a client has read, as the id of the last event it was sent: the log up to `seq`, the message being written up to its nth delta, and
 * the very event in the feed it came from. With the feed gone, the rest still tells where to go on.
 */
export type Cursor = {
  readonly seq: number
  /** When the event at `seq` was appended: tells whether the log is still the same one. */
  readonly at: number | null
  readonly draft: { readonly messageId: string; readonly n: number } | null
  readonly place: { readonly feed: string; readonly index: number } | null
}

function formatCursor({ seq, at, draft, place }: Cursor): string {
  const time = at === null ? '' : `-${at.toString(36)}`
  const written = draft ? `~${draft.messageId}~${draft.n}` : ''
  return `${seq}${time}${written}${place ? `@${place.feed}.${place.index}` : ''}`
}

/** Null when it is none. A bare seq is one, too. */
export function parseCursor(text: string): Cursor | null {
  const match = pattern.exec(text)
  if (!match) return null
  const [, seq, at, messageId, n, feed, index] = match
  return {
    seq: Number(seq),
    at: at === undefined ? null : Number.parseInt(at, 36),
    draft: messageId === undefined ? null : { messageId, n: Number(n) },
    place: feed === undefined ? null : { feed, index: Number(index) },
  }
}

const pattern = /^(\d{1,15})(?:-([0-9a-z]{1,9}))?(?:~([\w-]{1,64})~(\d{1,15}))?(?:@([0-9a-z]{1,16})\.(\d{1,15}))?$/

/** What a client that reads slowly has waiting for it. */
const page = { limit: 200, maxBytes: 256 * 1024 }

/**
 * What a client missed whose place is not in the feed any more: the withdrawal of text that is gone, the log since then, and where anything is
 * live, a snapshot of no more than `mostBytes` that has it. `view` and `now` are of the same moment; what comes after it is in the feed.
 */
export async function* catchUp(
  conversation: Pick<Conversation, 'events'>,
  cursor: Cursor,
  view: View,
  now: Cursor,
  mostBytes: number,
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
    // It was deleted under our feet; the feed tells.
    if (events.length === 0) break
    for (const event of events) yield frameOf(event, { ...behind, seq: event.seq, at: event.at })
    after = events.at(-1)!.seq
  }
  if (cursor.place || isLive(view)) yield snapshotFrame(view, now, mostBytes)
}

/** Still being written, or in the log. */
function isKnown({ drafts, log }: View, messageId: string): boolean {
  const isCommitted = log.turns.some(({ items }) =>
    items.some((item) => item.type === 'assistant' && item.messageId === messageId),
  )
  return isCommitted || drafts.some((draft) => draft.messageId === messageId)
}

function isLive({ drafts, activity, progress, children }: View): boolean {
  return drafts.length > 0 || activity !== null || Object.keys(progress).length > 0 || children.pending.length > 0
}
