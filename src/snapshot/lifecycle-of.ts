import type { NewEvent, TurnStatus } from '../log/events.ts'
import { phaseOf } from '../log/fsm-state.ts'
import { type ConversationState, openTurn } from '../log/state.ts'
import { pendingItems } from '../view/view-of.ts'
import type { Lifecycle } from './persistence.ts'

/** Why a snapshot is taken, and of whose turn. */
export type Moment = { readonly lifecycle: Lifecycle; readonly turnId: string }

/** The moment that a commit is; null when no snapshot is taken. What waits for a child agent only is not interrupted: the child may be. */
export function lifecycleOf(
  events: readonly NewEvent[],
  before: ConversationState,
  after: ConversationState,
): Moment | null {
  const ended = events.findLast((event) => event.type === 'turn_ended')?.content
  if (ended) return { lifecycle: ofEnd[ended.status], turnId: ended.turnId }
  const open = openTurn(after)
  if (!open || !waitsForSomebody(after)) return null
  const isNews = events.some((event) => event.type === 'suspension' && event.content.kind !== 'sub_agent')
  return isNews || !waitsForSomebody(before) ? { lifecycle: 'on_interrupt', turnId: open.turnId } : null
}

const ofEnd: { readonly [Status in TurnStatus]: Lifecycle } = {
  completed: 'on_completion',
  halted: 'on_completion',
  cancelled: 'on_cancel',
  failed: 'on_error',
}

function waitsForSomebody(state: ConversationState): boolean {
  return phaseOf(state) === 'awaiting_input' && pendingItems('', state).length > 0
}
