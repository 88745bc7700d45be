import type { NewEvent } from '../../log/events.ts'
import type { ConversationState } from '../../log/state.ts'
import { lifecycleOf } from '../../snapshot/lifecycle-of.ts'
import type { WorkingSet } from '../../store/working-sets.ts'
import type { TurnContext } from './turn-context.ts'

export type LifecycleSnapshot = {
  /** To be called when the commit is durable. */
  persist(workingSet: WorkingSet): Promise<void>
  /** Must be called in any case: until then nobody here is told what was committed. */
  announce(): void
}

/** Begun before a commit that the app wants a snapshot of: first durable, then persisted, then announced. Null when it wants none. */
export function lifecycleSnapshot(
  { snapshots, agent, id, scopes, channel }: TurnContext,
  events: readonly NewEvent[],
  before: ConversationState,
  after: ConversationState,
): LifecycleSnapshot | null {
  const moment = snapshots && lifecycleOf(events, before, after)
  if (!snapshots || !moment) return null
  const { lifecycle, turnId } = moment
  return {
    persist: (workingSet) =>
      snapshots.persist(lifecycle, { agentId: agent.name, conversationId: id, workingSet, scopes, turnId }),
    announce: channel.hold(),
  }
}
