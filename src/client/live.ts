import { readArgument, readOptions, shown } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { WatchEvent } from '../view/growing-view.ts'
import type { RemoteSession } from './create-client.ts'
import type { RemoteRecord } from './pages.ts'
import type { ClientOptions } from './request.ts'
import { maxIdCharacters, type Watched, type WatchOptions, watchWithMore } from './watch.ts'

/** What a tenant's feed tells. A frame may come twice. */
export type LiveFrame =
  /**
   * Read everything shown again: changes after this frame are sent, earlier ones are not. Comes first, and after a gap that
   * the server cannot fill.
   */
  | { readonly type: 'reset' }
  /** A conversation is new or has changed: its row in lists, and its rows in the inbox. */
  | { readonly type: 'conversation'; readonly record: RemoteRecord; readonly calls: readonly WaitingCall[] }
  | { readonly type: 'session'; readonly session: RemoteSession; readonly calls: readonly WaitingCall[] }
  /** It was deleted. */
  | { readonly type: 'gone'; readonly id: string }
  /** An event of a conversation in `watch`, as its own stream has it; `id` continues after it. The first is a snapshot, unless `watch` names a place. */
  | { readonly type: 'watched'; readonly conversationId: string; readonly id: string; readonly event: WatchEvent }
  /** A conversation in `watch` does not exist, or the caller may not see it. It is not watched until the next connection. */
  | { readonly type: 'unwatched'; readonly conversationId: string }

/** A call of the conversation's own, or a question of the session, that waits for an answer. At most 100 are named; `waiting` of the row counts all. */
export type WaitingCall = { readonly callId: string; readonly round: number }

/** The frames of a feed, and where it continues. */
export type LiveOptions = Omit<WatchOptions, 'after'> & {
  /** The `id` of the last frame. Without it, the feed begins with `reset`. */
  readonly after?: string
  /**
   * Conversations whose events come along, at most 8: a seq or an event id to continue after, or null to begin with a snapshot. Reconnecting continues where
   * each of them was.
   */
  readonly watch?: { readonly [conversationId: string]: number | string | null }
}

const mostWatched = 8

/** What changes in the tenant, as far as the caller may see it. Reconnects as needed; ends with the signal; throws when the server refuses for good. */
export async function* live(
  options: ClientOptions,
  given?: LiveOptions,
): AsyncGenerator<Watched<LiveFrame>, void, void> {
  const { watch, ...watching } = readOptions('options', given, [
    ...(['after', 'signal', 'backoff', 'silentMs', 'onConnect', 'onDisconnect', 'watch'] as const),
  ])
  const places = readPlaces(watch)
  const query = () => (places.size === 0 ? {} : { watch: JSON.stringify(Object.fromEntries(places)) })
  for await (const { watched } of watchWithMore<LiveFrame>(options, '/live', watching, query)) {
    const { event } = watched
    if (event.type === 'watched') places.set(event.conversationId, event.id)
    yield watched
  }
}

function readPlaces(given: LiveOptions['watch']): Map<string, number | string | null> {
  readOptions('watch', given, [])
  const named = readArgument('watch', () => Object.entries(given ?? {}))
  if (named.length > mostWatched)
    throw new InvalidArgumentError(
      'watch',
      `names ${named.length} conversations; at most ${mostWatched} can be watched`,
    )
  const places = new Map<string, number | string | null>()
  for (const [id, place] of named) {
    const isId = typeof place === 'string' && place.length <= maxIdCharacters
    const isPlace = place === null || isId || Number.isSafeInteger(place)
    if (!isPlace)
      throw new InvalidArgumentError('watch', `of '${id}' must be a seq, an event id or null, not ${shown(place)}`)
    places.set(id, place)
  }
  return places
}
