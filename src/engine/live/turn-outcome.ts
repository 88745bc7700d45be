import type { Json } from '../../base/json.ts'
import type { TurnStatus, Usage } from '../../log/events.ts'
import { type ConversationState, findTurn, keptMessages, openTurn, type TurnState } from '../../log/state.ts'
import { usageOf } from '../../log/turn-usage.ts'
import { noChildren } from '../../view/live-parts.ts'
import type { Children, PendingItem } from '../../view/view.ts'
import { isWaiting, pendingItems } from '../../view/view-of.ts'

/** How a turn stands when it cannot go on by itself. */
export type TurnOutcome<Pending = PendingItem, Output = unknown> =
  | { readonly status: 'waiting'; readonly turnId: string; readonly pending: readonly Pending[] }
  | (Ended & { readonly status: 'completed'; readonly object: Output })
  | (Ended & { readonly status: Exclude<TurnStatus, 'completed'> })
  /** This process will not see the end: the runtime was closed, the conversation deleted, or its log cannot be read here. */
  | { readonly status: 'detached'; readonly turnId: string; readonly reason: string }

type Ended = {
  readonly turnId: string
  /** Of the last message. */
  readonly text: string
  readonly reason: string | null
  /** With that of its child agents. */
  readonly usage: Usage
}

/** Whether a state tells what the turn has come to: it has the turn, and all of the message that it ended with. */
export function isToldBy(state: ConversationState, turnId: string): boolean {
  const turn = findTurn(state, turnId)
  return turn !== null && !(turn.end && keptMessages(turn).at(-1)?.leftOut)
}

/** Null while the turn runs, here or in a child agent, or is queued. */
export function outcomeOf(
  conversationId: string,
  state: ConversationState,
  turnId: string,
  children: Children = noChildren,
): TurnOutcome | null {
  const turn = findTurn(state, turnId)
  if (!turn) return null
  if (turn.end) return endedOutcome(turn, turn.end)
  if (openTurn(state) !== turn || !isWaiting(state, children)) return null
  return { status: 'waiting', turnId, pending: [...pendingItems(conversationId, state), ...children.pending] }
}

function endedOutcome(turn: TurnState, { status, reason }: NonNullable<TurnState['end']>): TurnOutcome {
  const last = keptMessages(turn).at(-1)
  const text = (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
  const ended = { turnId: turn.turnId, text, reason, usage: usageOf(turn) }
  return status === 'completed' ? { ...ended, status, object: last?.object as Json } : { ...ended, status }
}
