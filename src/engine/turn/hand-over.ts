import { callPhase } from '../../log/call-phase.ts'
import type { NewEvent, TurnStatus } from '../../log/events.ts'
import { phaseOf } from '../../log/fsm-state.ts'
import { onInterrupted } from '../../log/next-step.ts'
import { type Outcome, settle } from '../../log/settle.ts'
import { type ConversationState, findCall, openTurn } from '../../log/state.ts'
import type { Lifecycle } from '../../snapshot/persistence.ts'
import type { WorkingSet } from '../../store/working-sets.ts'
import { pendingItems } from '../../view/view-of.ts'
import type { TurnContext } from './turn-context.ts'

/** What an owner that ends in good order leaves to the next: results it has in hand, and of the calls it stopped what their tools say. */
export function handOverEvents(
  state: ConversationState,
  outcomes: readonly Outcome[],
  interrupted: readonly string[],
): NewEvent[] {
  const results = outcomes.filter((outcome) => outcome.type === 'result')
  return [
    ...results.flatMap((outcome) => settle(state, outcome)),
    ...interrupted.flatMap((callId) => interruptedEvents(state, callId)),
  ]
}

function interruptedEvents(state: ConversationState, callId: string): NewEvent[] {
  const call = findCall(state, callId)?.call
  if (!call || callPhase(call).type !== 'started' || call.ifInterrupted === 'rerun') return []
  return [onInterrupted(call)]
}

/** How an owner lets go of its conversation: `park` when there is nothing to do, `hand_over` when another process is to go on. */
export type LettingGo = 'park' | 'hand_over'

export const lettingGo = {
  park: { wakeAt: null, lease: 'release' },
  hand_over: { wakeAt: 'now', lease: 'release' },
} as const

type LifecycleSnapshot = {
  /** To be called when the commit is durable. */
  persist(workingSet: WorkingSet): Promise<void>
  /** Must be called in any case: until then nobody here is told what was committed. */
  announce(): void
}

/** Begun before a commit that the app wants a snapshot of: first durable, then persisted, then announced. Null when it wants none. */
export function lifecycleSnapshot(
  { node: { snapshots }, ref, agent, scopes, channel }: TurnContext,
  events: readonly NewEvent[],
  before: ConversationState,
  after: ConversationState,
): LifecycleSnapshot | null {
  const moment = snapshots && lifecycleOf(events, before, after)
  if (!snapshots || !moment) return null
  const { lifecycle, turnId } = moment
  return {
    persist: (workingSet) =>
      snapshots.persist(lifecycle, { agentId: agent.name, conversationId: ref.id, workingSet, scopes, turnId }),
    announce: channel.hold(),
  }
}

/** Why a snapshot is taken, and of whose turn. */
type Moment = { readonly lifecycle: Lifecycle; readonly turnId: string }

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
