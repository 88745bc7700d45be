import { EventUnknownError, type UnknownEvent } from '../../base/errors/log-errors.ts'
import { RuntimeClosedError, TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { RateLimitedError } from '../../base/errors/server-errors.ts'
import { findTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { View } from '../../view/view.ts'
import { eventStream } from '../live/event-stream.ts'
import type { Followed } from '../live/feed.ts'
import { Subscription } from '../live/subscription.ts'
import type { RouteCall } from '../route.ts'
import type { ClientMessage } from './client-message.ts'
import { heldTurn } from './held-turn.ts'
import type { UiTurn } from './ui-turn.ts'
import { doneFrame, framesOf, type UiFrame } from './ui-turns.ts'

export type Streamed = {
  readonly conversation: Conversation
  readonly turnId: string
  /** Where the log was when this was asked: nothing older is told. */
  readonly seq: number
  /** What the client shows of the turn. Null: nothing, all of it is sent. */
  readonly held: ClientMessage | null
}

/** A turn as a UI message stream, until it waits for somebody or has ended. The turn does not care whether anybody reads. */
export async function uiStream(call: RouteCall, streamed: Streamed): Promise<Response> {
  const { conversation, turnId, seq } = streamed
  const { feeds, settings } = call.server
  if (feeds.subscribers >= settings.limits.streams) throw new RateLimitedError(1_000)
  let followed: Followed | null = null
  const subscription = new Subscription(settings.limits.streamBytes, null, () => followed?.stop())
  const client = new UiClient(call, streamed, subscription)
  const { ref } = call.verbs.inspect(conversation.id)
  followed = await feeds.follow({ ref, conversation, disclosure: call.disclosure }, seq, client)
  if (!followed) throw new RuntimeClosedError()
  if (!findTurn(followed.view.log, turnId)) {
    followed.stop()
    const { unknownEvent } = followed.view
    // It may well be there, behind an event that this node does not know.
    if (unknownEvent) throw unreadable(conversation.id, unknownEvent)
    throw new TurnNotFoundError(conversation.id, turnId)
  }
  call.request.signal.addEventListener('abort', () => subscription.close(), { once: true })
  if (call.request.signal.aborted) subscription.close()
  const response = eventStream(subscription)
  for (const [name, value] of Object.entries(uiStreamHeaders)) response.headers.set(name, value)
  return response
}

function unreadable(conversationId: string, { seq, type, needs }: UnknownEvent): EventUnknownError {
  return new EventUnknownError({ conversationId, seq, type, content: { since: needs } })
}

export const uiStreamHeaders = { 'x-vercel-ai-ui-message-stream': 'v1' }

/** One client, as far as it has been sent. */
class UiClient {
  readonly #call: RouteCall
  readonly #turnId: string
  readonly #subscription: Subscription
  readonly #isV7: boolean
  /** What it says it shows, until it was sent the first of what it lacks. */
  #held: ClientMessage | null
  #shown: UiTurn | null = null
  #isOver = false

  constructor(call: RouteCall, { turnId, held }: Streamed, subscription: Subscription) {
    this.#call = call
    this.#turnId = turnId
    this.#held = held
    this.#subscription = subscription
    this.#isV7 = call.query['chunks'] === 'v7'
  }

  /** What cannot be written out ends this client alone, and not those that watch with it. */
  next(view: View): void {
    if (this.#isOver) return
    const { uiTurns, settings } = this.#call.server
    try {
      const turn = uiTurns.of(view, this.#turnId)
      if (turn !== 'between') this.#send(this.#frame(turn))
    } catch (error) {
      settings.logger.error('a turn could not be shown', { id: view.conversationId, turnId: this.#turnId, error })
      this.#end(errorFrame('This turn cannot be shown here. Read the log of the conversation.'))
    }
  }

  beat(frame: Uint8Array): void {
    this.#subscription.beat(frame)
  }

  end(): void {
    this.#end(errorFrame('The server is closing. Resume to see the rest.'))
  }

  #frame(turn: UiTurn | null): UiFrame {
    const { uiTurns } = this.#call.server
    const held = this.#held
    this.#held = null
    if (!held || !turn) return uiTurns.frame(this.#shown, turn, this.#isV7)
    const known = heldTurn(held, turn)
    // It shows what is not so: only a stream that it resumes can begin anew.
    return known ? uiTurns.ownFrame(known, turn, this.#isV7) : uiTurns.frame(null, null, this.#isV7)
  }

  #send({ bytes, shown, isOver }: UiFrame): void {
    this.#shown = shown
    if (isOver) this.#end(bytes)
    else if (bytes.byteLength > 0) this.#subscription.push(bytes)
  }

  #end(bytes: Uint8Array): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription.push(bytes)
    this.#subscription.push(doneFrame)
    this.#subscription.end()
  }
}

function errorFrame(errorText: string): Uint8Array {
  return framesOf([{ type: 'error', errorText }])
}
