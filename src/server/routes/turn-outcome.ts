import { TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { outcomeOf, type TurnOutcome } from '../../engine/live/turn-outcome.ts'
import { findTurn } from '../../log/state.ts'
import { stateWeight } from '../../log/trim-state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { GrowingView } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { json } from '../answer.ts'
import { inRoom } from '../in-room.ts'
import type { RouteCall } from '../route.ts'

/** How a turn stands when it cannot go on by itself, within so long; null when that takes longer. Many may wait: what they read and hold meanwhile comes from the room of all answers. */
export async function outcomeInTime(
  call: RouteCall,
  conversation: Conversation,
  turnId: string,
  waitMs: number,
): Promise<Response | null> {
  const answerNow = (): Promise<Response | null> =>
    inRoom(call, async () => {
      const outcome = await outcomeNow(conversation, turnId)
      return outcome && json(outcome)
    })
  const found = await answerNow()
  if (found || waitMs === 0) return found
  return (await hasSettled(call, conversation, turnId, waitMs)) ? answerNow() : null
}

/** Null while the turn goes on by itself. */
async function outcomeNow(conversation: Conversation, turnId: string): Promise<TurnOutcome | null> {
  const view = await conversation.view()
  if (findTurn(view.log, turnId)?.end === null) return waitingIn(view, turnId)
  // What is shown of a large conversation may not have the turn, or all of its last message.
  const ended = await conversation.turn(turnId).outcome()
  if (ended.status !== 'detached') return ended
  const { log, unknownEvent } = await conversation.view()
  // It may well be there, behind an event that this node does not know.
  if (unknownEvent || findTurn(log, turnId)) return ended
  throw new TurnNotFoundError(conversation.id, turnId)
}

function waitingIn({ conversationId, log, children }: View, turnId: string): TurnOutcome | null {
  return outcomeOf(conversationId, log, turnId, children)
}

/** Whether there is something to tell before the time is up, or others need the room. */
async function hasSettled(
  { request, server }: RouteCall,
  conversation: Conversation,
  turnId: string,
  waitMs: number,
): Promise<boolean> {
  const enough = new AbortController()
  const signal = AbortSignal.any([AbortSignal.timeout(waitMs), request.signal, enough.signal])
  const { answerBytes, waitMs: longest } = server.settings.limits
  const place = await server.room.take(answerBytes, { signal: request.signal, waitMs: longest })
  let looking: NodeJS.Immediate | null = null
  let isSettled = false
  try {
    let shown: GrowingView | null = null
    let known: View | null = null
    const look = (): void => {
      looking = null
      const view = shown?.view
      if (!view || (known && view.log === known.log && view.children === known.children)) return
      known = view
      isSettled = findTurn(view.log, turnId)?.end !== null || waitingIn(view, turnId) !== null
      if (isSettled) enough.abort()
      else place.keep(stateWeight(view.log), () => enough.abort())
    }
    // Once for all that comes in one turn of the event loop: a commit may have thousands of events.
    for await (const event of conversation.watch({ signal })) {
      if (shown) shown.take(event)
      else if (event.type === 'snapshot') shown = new GrowingView(event.view)
      looking ??= setImmediate(look)
    }
    look()
    return isSettled
  } finally {
    if (looking) clearImmediate(looking)
    place.release()
  }
}
