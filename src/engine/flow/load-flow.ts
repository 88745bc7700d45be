import type { Json } from '../../base/json.ts'
import { Lru } from '../../base/lru.ts'
import { abridge, weightOf } from '../../log/abridge.ts'
import { isSameLog, isStillThere, pagesAfter, pagesFrom, readBounds } from '../../store/log-pages.ts'
import { conversationKey, type Summary } from '../../store/records.ts'
import type { EventPage, TenantStore } from '../../store/store.ts'
import { putFurthest } from '../put-summary.ts'
import { type FlowState, foldFlow, openOps, type RecordedOp, type RecordedOutcome } from './flow-state.ts'

/** A folded session, up to where a summary stands for its log, and the time of its last event where that was read. */
export type LoadedFlow = { readonly state: FlowState; readonly summarisedTo: number; readonly lastAt: number | null }

const summaryVersion = 1
/** How many events may lie behind a fresh record before they are put away. */
const eventsPerSummary = 200

/** When a record weighs more than `most`, it is trimmed to `kept`. */
type FlowBound = { readonly most: number; readonly kept: number }

/** For readers that only show it. */
const flowBound: FlowBound = { most: 8 * 1024 * 1024, kept: 1024 * 1024 }

const boundless: FlowBound = { most: Number.POSITIVE_INFINITY, kept: Number.POSITIVE_INFINITY }

/**
 * Reads what the record needs: the latest summary and the events after it. Null when there is no session of that id. Default: no limits.
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

/** Continues from the known record. Null when the first event of the log is not that of a session. */
async function readFlow(
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
  await putFurthest(store, id, { fromSeq: 1, toSeq: lastSeq, version: summaryVersion, content, base: null })
  return lastSeq
}

/** A conversation's summary is a text. A summary that is not the record of a session at that seq is ignored: the log is the truth. */
function flowStateIn({ version, toSeq, content }: Summary): FlowState | null {
  if (version !== summaryVersion || typeof content !== 'object' || content === null) return null
  const state = content as unknown as FlowState
  const isRecord = 'generation' in state && Array.isArray(state.ops) && Array.isArray(state.outcomes)
  return isRecord && state.lastSeq === toSeq ? state : null
}

/** About what a record takes in memory. */
export function flowWeight({ input, ops, outcomes, ended }: FlowState): number {
  let weight = weightOf(input) + weightOf(ended)
  for (const part of [...ops, ...outcomes]) weight += partWeight(part)
  return weight
}

/**
 * Shortens a record to about this many bytes, for display: it cuts the oldest values first, and those that wait for an answer last. Code cannot be replayed
 * against the result. Pure; returns the same object if it fits.
 */
export function trimFlow(state: FlowState, maxBytes: number): FlowState {
  let weight = flowWeight(state)
  if (weight <= maxBytes) return state
  const open = new Set(openOps(state).map(({ position }) => position))
  const lighter = <Part extends RecordedOp | RecordedOutcome>(part: Part, shorten: (part: Part) => Part): Part => {
    if (weight <= maxBytes) return part
    const abridged = shorten(part)
    const saved = partWeight(part) - partWeight(abridged)
    weight -= saved
    return saved > 0 ? { ...abridged, leftOut: (part.leftOut ?? 0) + saved } : part
  }
  const outcomes = state.outcomes.map((outcome) => lighter(outcome, abridgedOutcome))
  const settled = state.ops.map((op) => (open.has(op.position) ? op : lighter(op, abridgedOp)))
  const ops = settled.map((op) => (open.has(op.position) ? lighter(op, abridgedOp) : op))
  return { ...state, ops, outcomes, isTrimmed: true }
}

function abridgedOutcome(outcome: RecordedOutcome): RecordedOutcome {
  if (outcome.ok) return { ...outcome, value: abridge(outcome.value) }
  return { ...outcome, error: abridge(outcome.error) as string }
}

function abridgedOp(opened: RecordedOp): RecordedOp {
  return { ...opened, op: abridge(opened.op as unknown as Json) as unknown as RecordedOp['op'] }
}

const weights = new WeakMap<object, number>()

function partWeight(part: object): number {
  const known = weights.get(part)
  if (known !== undefined) return known
  const weight = weightOf(part)
  weights.set(part, weight)
  return weight
}

/** Keeps the records of the sessions used last, so that going on with one reads only what is new. None that is kept is larger than `flowBound`. */
export class FlowStates {
  readonly #kept: Lru<LoadedFlow>

  constructor({ entries = 200, bytes = 32 * 1024 * 1024 } = {}) {
    this.#kept = new Lru({ entries, bytes, weigh: ({ state }) => flowWeight(state) })
  }

  /** Up to date with the store. Null when there is no session of that id. Of a large one only what is shown: see `FlowState.isTrimmed`. */
  async load(store: TenantStore, tenant: string, id: string): Promise<LoadedFlow | null> {
    return this.#load(store, tenant, id, flowBound)
  }

  /** The same, with all that its code is replayed against, however large it is. */
  async loadWhole(store: TenantStore, tenant: string, id: string): Promise<LoadedFlow | null> {
    return this.#load(store, tenant, id, boundless)
  }

  async #load(store: TenantStore, tenant: string, id: string, within: FlowBound): Promise<LoadedFlow | null> {
    const kept = this.#kept.get(conversationKey(tenant, id))
    const isEnough = kept && (within !== boundless || !kept.state.isTrimmed)
    const loaded = (isEnough ? await caughtUp(store, id, kept, within) : null) ?? (await loadFlow(store, id, within))
    if (loaded) this.keep(tenant, id, loaded)
    else this.#kept.delete(conversationKey(tenant, id))
    return loaded
  }

  keep(tenant: string, id: string, loaded: LoadedFlow): void {
    const { state } = loaded
    const bounded = flowWeight(state) > flowBound.most ? { ...loaded, state: trimFlow(state, flowBound.kept) } : loaded
    this.#kept.set(conversationKey(tenant, id), bounded)
  }
}

/** Null when the log is not the one that was folded: it was deleted, and another has its name. */
async function caughtUp(
  store: TenantStore,
  id: string,
  known: LoadedFlow,
  within: FlowBound,
): Promise<LoadedFlow | null> {
  const { lastSeq } = known.state
  const page = await store.pageEvents(id, { ...readBounds, after: lastSeq - 1, keep: 'oldest' })
  if (known.lastAt === null || !isSameLog({ seq: lastSeq, at: known.lastAt }, page)) return null
  return readFlow(known, pagesFrom(store, id, page), within)
}
