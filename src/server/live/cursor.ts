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

export function formatCursor({ seq, at, draft, place }: Cursor): string {
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
