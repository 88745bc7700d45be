import type { LogEvent } from '../../log/events.ts'
import { type ConversationState, emptyState } from '../../log/state.ts'
import { foldWithin } from '../../log/trim-state.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import type { TenantStore } from '../../store/store.ts'
import { renumbered, TurnEvents } from './turn-events.ts'

/** Enough for the last message of a turn, whatever came before it. */
const keptBytes = 4 * 1024 * 1024

/**
 * A state that has one turn of the log, as far as it tells how the turn ended. For turns that no working set has any more: a summary stands for them, or they
 * were left out. Reads the whole log, and holds little of it.
 */
export async function turnFromLog(store: TenantStore, id: string, turnId: string): Promise<ConversationState> {
  const own = new TurnEvents([turnId])
  let state = emptyState
  for await (const { events } of pagesAfter(store, id)) {
    const found = renumbered(ownOf(events, own), state.lastSeq + 1)
    state = foldWithin(found, state, 2 * keptBytes, keptBytes)
  }
  return state
}

function* ownOf(events: Iterable<LogEvent>, own: TurnEvents): Generator<LogEvent> {
  for (const event of events) if (own.has(event)) yield event
}
