import type { TurnStatus, Usage } from '../log/events.ts'
import { phaseOf } from '../log/fsm-state.ts'
import type { Json } from '../log/json.ts'
import { keptMessages } from '../log/next-step.ts'
import { type ConversationState, findTurn, openTurn, type TurnState } from '../log/state.ts'
import type { PendingItem } from '../view/view.ts'
import { pendingItems } from '../view/view-of.ts'

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
  readonly usage: Usage
}

/** Null while the turn runs or is queued. */
export function outcomeOf(conversationId: string, state: ConversationState, turnId: string): TurnOutcome | null {
  const turn = findTurn(state, turnId)
  if (!turn) return null
  if (turn.end) return endedOutcome(turn, turn.end)
  if (openTurn(state) !== turn || phaseOf(state) !== 'awaiting_input') return null
  return { status: 'waiting', turnId, pending: pendingItems(conversationId, state) }
}

function endedOutcome(turn: TurnState, { status, reason }: NonNullable<TurnState['end']>): TurnOutcome {
  const last = keptMessages(turn).at(-1)
  const text = (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
  const ended = { turnId: turn.turnId, text, reason, usage: usageOf(turn) }
  return status === 'completed' ? { ...ended, status, object: last?.object as Json } : { ...ended, status }
}

function usageOf(turn: TurnState): Usage {
  const total: Record<string, number> = {}
  for (const item of turn.items) {
    if (item.type !== 'assistant') continue
    for (const [name, tokens] of Object.entries(item.usage)) total[name] = (total[name] ?? 0) + tokens
  }
  return total
}
