import { onAbort } from '../../base/abort.ts'
import { EventUnknownError, type UnknownEvent } from '../../base/errors/log-errors.ts'
import { RuntimeClosedError, TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { RateLimitedError } from '../../base/errors/server-errors.ts'
import { findTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { permissionOf } from '../../runtime/permit.ts'
import type { RouteCall } from '../route.ts'
import type { Followed, Follower } from './feed.ts'
import { eventStream, Subscription } from './subscription.ts'

export type TurnClient = Follower & {
  /** The caller may not read the conversation any more. */
  lost(): void
}

type FollowedTurn = {
  readonly conversation: Conversation
  readonly turnId: string
  /** The end of the log at the time of the request. Older views are not sent. */
  readonly seq: number
}

/** Streams a turn to one client of a chat protocol. `isJudged`: the caller is asked about, so a log that becomes another one is lost. */
export async function followTurn(
  call: RouteCall,
  { conversation, turnId, seq }: FollowedTurn,
  makeClient: (subscription: Subscription, isJudged: boolean) => TurnClient,
): Promise<Response> {
  const { feeds, settings } = call.server
  if (feeds.subscribers >= settings.limits.streams) throw new RateLimitedError(1_000)
  let followed: Followed | null = null
  const subscription = new Subscription(settings.limits.streamBytes, null, () => followed?.stop())
  const permission = permissionOf(conversation)
  const client = makeClient(subscription, permission !== null)
  const { ref } = call.verbs.inspect(conversation.id)
  const shared = permission?.conversation ?? conversation
  followed = await feeds.follow({ ref, conversation: shared, disclosure: call.disclosure }, seq, client)
  if (!followed) throw new RuntimeClosedError()
  if (!findTurn(followed.view.log, turnId)) {
    followed.stop()
    const { unknownEvent } = followed.view
    // The turn may come after an event that this node does not know.
    if (unknownEvent) throw unreadable(conversation.id, unknownEvent)
    throw new TurnNotFoundError(conversation.id, turnId)
  }
  if (permission) subscription.onClosed(permission.onLost(() => client.lost()))
  onAbort(call.request.signal, () => subscription.close())
  return eventStream(subscription)
}

function unreadable(conversationId: string, { seq, type, needs }: UnknownEvent): EventUnknownError {
  return new EventUnknownError({ conversationId, seq, type, content: { since: needs } })
}
