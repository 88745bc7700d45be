import type { LogEvent } from '../log/events.ts'
import type { TenantStore } from '../store/store.ts'
import type { Summary } from '../store/summary.ts'
import { type FlowState, foldFlow } from './flow-state.ts'

/** A folded session, up to where a summary stands for its log, and the time of its last event where that was read. */
export type LoadedFlow = { readonly state: FlowState; readonly summarisedTo: number; readonly lastAt: number | null }

const summaryVersion = 1
/** How many events may lie behind a fresh record before they are put away. */
const eventsPerSummary = 200

/** Reads what the record needs: the latest summary and what came after it. Null when there is no session of that id. */
export async function loadFlow(store: TenantStore, id: string): Promise<LoadedFlow | null> {
  const { summary, events } = await store.loadSince(id)
  const base = summary && flowStateIn(summary)
  // A summary of another version of this code: the log is the truth.
  if (summary && !base) return folded(await store.streamEvents(id), null)
  return folded(events, base)
}

function folded(events: readonly LogEvent[], base: FlowState | null): LoadedFlow | null {
  if (!base && events[0]?.type !== 'flow_started') return null
  const state = foldFlow(events, base)
  return state && { state, summarisedTo: base?.lastSeq ?? 0, lastAt: events.at(-1)?.at ?? null }
}

/**
 * Puts away what lies behind a record that has just begun, so that a session of any length is loaded from its last part. A cache: without
 * it, more is read. Returns up to where there is a summary now.
 */
export async function putAway(
  store: TenantStore,
  id: string,
  { state, summarisedTo }: Pick<LoadedFlow, 'state' | 'summarisedTo'>,
): Promise<number> {
  const { lastSeq, ops } = state
  if (ops.length > 0 || lastSeq - summarisedTo < eventsPerSummary) return summarisedTo
  const content = { ...state, ops: [], outcomes: [] }
  await store.putSummary(id, { fromSeq: 1, toSeq: lastSeq, version: summaryVersion, content, base: null })
  return lastSeq
}

/** A conversation's summary is a text. What is not the record of a session at that seq is left aside: the log is the truth. */
function flowStateIn({ version, toSeq, content }: Summary): FlowState | null {
  if (version !== summaryVersion || typeof content !== 'object' || content === null) return null
  const state = content as unknown as FlowState
  const isRecord = 'generation' in state && Array.isArray(state.ops) && Array.isArray(state.outcomes)
  return isRecord && state.lastSeq === toSeq ? state : null
}
