import type { InboxItem } from 'perdure/client'

/** One string for one question: a call that asks again is another one. */
export function keyOf({ conversationId, callId, round }: InboxItem): string {
  return JSON.stringify([conversationId, callId, round])
}

/** Everything that an answer is about: which round of which call, and its arguments. */
export function versionOf(item: InboxItem): string {
  return `${keyOf(item)} ${item.digest}`
}
