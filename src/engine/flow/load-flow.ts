import { isStillThere, pagesAfter, pagesFrom, readBounds } from '../../store/log-pages.ts'
import type { EventPage, TenantStore } from '../../store/store.ts'
import type { Summary } from '../../store/summary.ts'
import { type FlowState, foldFlow } from './flow-state.ts'
import { flowWeight, trimFlow } from './trim-flow.ts'

/** A folded session, up to where a summary stands for its log, and the time of its last event where that was read. */
export type LoadedFlow = { readonly state: FlowState; readonly summarisedTo: number; readonly lastAt: number | null }

const summaryVersion = 1
/** How many events may lie behind a fresh record before they are put away. */
const eventsPerSummary = 200

/** When a record weighs more than `most`, it is trimmed to `kept`. */
export type FlowBound = { readonly most: number; readonly kept: number }

/** For whoever only shows it. */
export const flowBound: FlowBound = { most: 8 * 1024 * 1024, kept: 1024 * 1024 }

export const boundless: FlowBound = { most: Number.POSITIVE_INFINITY, kept: Number.POSITIVE_INFINITY }

/**
 * Reads what the record needs: the latest summary and what came after it. Null when there is no session of that id. Default: nothing is left out of it.
 */
export async function loadFlow(
  store: TenantStore,
  id: string,
  within: FlowBound = boundless,
): Promise<LoadedFlow | null> {
  for (;;) {
    const { summary, page } = await store.pageSince(id, readBounds)
    const base = summary && flowStateIn(summary)
    const known = base && { state: base, summarisedTo: base.lastSeq, lastAt: null }
    // A summary of another version of this code: the log is the truth.
    const pages = summary && !base ? pagesAfter(store, id) : pagesFrom(store, id, page)
    const loaded = await readFlow(known, pages, within)
    if (!page.hasMore || !page.first || (await isStillThere(store, id, page.first))) return loaded
  }
}

/** Goes on with what is known. Null when the first event of the log is not that of a session. */
export async function readFlow(
  known: LoadedFlow | null,
  pages: AsyncIterable<EventPage>,
  { most, kept }: FlowBound,
): Promise<LoadedFlow | null> {
  let loaded = known
  for await (const page of pages) {
    const state = folded(page, loaded?.state ?? null)
    if (!state) return null
    const bounded = flowWeight(state) > most ? trimFlow(state, kept) : state
    loaded = { state: bounded, summarisedTo: known?.summarisedTo ?? 0, lastAt: page.last?.at ?? loaded?.lastAt ?? null }
  }
  return loaded
}

function folded(page: EventPage, base: FlowState | null): FlowState | null {
  const events = [...page.events]
  return base || events[0]?.type === 'flow_started' ? foldFlow(events, base) : null
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
