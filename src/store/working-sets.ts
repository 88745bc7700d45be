import { NotAConversationError } from '../base/errors/flow-errors.ts'
import type { UnknownEvent } from '../base/errors/log-errors.ts'
import { Lru } from '../base/lru.ts'
import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { type ConversationState, emptyState } from '../log/state.ts'
import { hasReplaced } from '../log/superseded.ts'
import { boundState, eventsWeight, foldWithin, rememberTrim, shownBytes, stateWeight } from '../log/trim-state.ts'
import { knownPart } from '../log/validate-event.ts'
import { isSameLog, isStillThere, pagesAfter, pagesFrom, readBounds } from './log-pages.ts'
import { conversationKey, type Summary, usableBase } from './records.ts'
import type { EventPage, EventPlace, TenantStore } from './store.ts'

/** A folded log, and the time of its last event. Together with the `seq`, that time says whether the log is still the same one. */
export type WorkingSet = {
  readonly state: ConversationState
  readonly lastAt: number
  readonly origin: Origin
  /** The agent that works on it, if this process has seen it. */
  readonly agent?: string
  /** About how many bytes the state takes in memory, if known. */
  readonly weight?: number
}

/** The summary that replaces the turns a working set does not have. The same object as long as it is the same log with the same start. */
export type Origin = { readonly summary: Pick<Summary, 'toSeq' | 'version' | 'content'> | null }

/** A working set that weighs more than `most` is trimmed to `kept`. */
export type Bound = { readonly most: number; readonly kept: number }

/** For readers that need only what is shown, but continue faster with the whole log. */
export const bound: Bound = { most: 8 * 1024 * 1024, kept: shownBytes }

const boundless: Bound = { most: Number.POSITIVE_INFINITY, kept: Number.POSITIVE_INFINITY }

type Limits = { readonly sets?: number; readonly bytes?: number }

/**
 * Caches the working sets of recently used conversations, so that continuing one reads only new events. No cached set exceeds `bound`, nor does their total
 * exceed a bound.
 */
export class WorkingSets {
  readonly #cached: Lru<WorkingSet>
  /** Logs that are being read from the start; concurrent callers share one read. */
  readonly #loading = new Map<string, Promise<unknown>>()

  constructor({ sets = 200, bytes = 64 * 1024 * 1024 }: Limits = {}) {
    this.#cached = new Lru({ entries: sets, bytes, weigh: weightOfSet })
  }

  /** Up to date with the store. A large one has only what is shown: see `ConversationState.isTrimmed`. */
  async load(store: TenantStore, tenant: string, id: string): Promise<WorkingSet> {
    const key = conversationKey(tenant, id)
    // Events written since that read started are read after it. Of several waiting callers, one may have started the next read.
    for (let loading = this.#loading.get(key); loading; loading = this.#loading.get(key)) await loading
    const cached = this.#cached.get(key)
    const loaded = (cached && (await caughtUp(store, id, cached, bound))) ?? (await this.#loadOnce(store, key, id))
    this.keep(tenant, id, loaded)
    return loaded
  }

  /** The same, with everything that prompts are rendered from, however large. `end`: the last events, just read. Where they join what is cached, nothing else is read. */
  async loadWhole(store: TenantStore, tenant: string, id: string, end?: EventPage): Promise<WorkingSet> {
    const cached = this.peek(tenant, id)
    const whole = cached && !cached.state.isTrimmed ? cached : null
    const joined = end ? joinedTo(whole, end) : null
    const known = joined ?? (whole ? await caughtUp(store, id, whole) : null)
    const loaded = known ?? (await loadWhole(store, id))
    this.keep(tenant, id, loaded)
    return loaded
  }

  /** As of its last use; it may have grown, or be gone. */
  peek(tenant: string, id: string): WorkingSet | null {
    return this.#cached.get(conversationKey(tenant, id)) ?? null
  }

  keep(tenant: string, id: string, workingSet: WorkingSet): void {
    const key = conversationKey(tenant, id)
    const cached = this.#cached.get(key)
    const isNewer = cached?.origin === workingSet.origin && cached.state.lastSeq > workingSet.state.lastSeq
    this.#cached.set(key, isNewer ? cached : bounded(workingSet))
  }

  drop(tenant: string, id: string): void {
    this.#cached.delete(conversationKey(tenant, id))
  }

  async #loadOnce(store: TenantStore, key: string, id: string): Promise<WorkingSet> {
    const loading = loadWhole(store, id, bound)
    const over = loading.catch(() => {})
    this.#loading.set(key, over)
    try {
      return await loading
    } finally {
      if (this.#loading.get(key) === over) this.#loading.delete(key)
    }
  }
}

function weightOfSet({ state, weight }: WorkingSet): number {
  return weight ?? stateWeight(state)
}

/** Trims a working set to `bound`. Calls and turns that have not ended are kept even if they exceed it. */
export function bounded(workingSet: WorkingSet): WorkingSet {
  const state = boundState(workingSet.state, weightOfSet(workingSet), bound)
  return state === workingSet.state ? workingSet : { ...workingSet, state, weight: stateWeight(state) }
}

/**
 * Null when the log has to be read from the start: it was deleted, and another has its name, or turns were withdrawn that a summary may stand for here.
 * Default: no limits.
 */
export async function caughtUp(
  store: TenantStore,
  id: string,
  known: WorkingSet,
  within: Bound = boundless,
): Promise<WorkingSet | null> {
  const { state, lastAt } = known
  if (state.lastSeq === 0) return null
  const expected = { seq: state.lastSeq, at: lastAt }
  const caught = await readOn(store, id, known, pagesAfter(store, id, { after: expected.seq - 1 }), {
    within,
    expected,
  })
  return caught && hasReplaced(caught.state, state) ? null : caught
}

/** Null where events between are missing, or the log has to be read from the start: see `caughtUp`. Without `known`, `end` must be the whole log. */
function joinedTo(known: WorkingSet | null, end: EventPage): WorkingSet | null {
  if (!known) {
    if (end.first?.seq !== 1) return null
    refuseSession(end)
    return withEvents({ state: emptyState, lastAt: 0, origin: { summary: null } }, [...end.events])
  }
  const events = [...end.events]
  const place = events.findIndex(({ seq, at }) => seq === known.state.lastSeq && at === known.lastAt)
  if (place < 0) return null
  const joined = withEvents(known, events.slice(place + 1))
  return hasReplaced(joined.state, known.state) ? null : joined
}

/** Reads from the latest summary on. Default: no limits. */
export async function loadWhole(store: TenantStore, id: string, within: Bound = boundless): Promise<WorkingSet> {
  return readWhole(store, id, within, (pages) => pages)
}

/** As much of a log as this version can read, and no more than is shown. Nothing may be decided on it. */
export async function loadReadable(
  store: TenantStore,
  id: string,
): Promise<{ readonly state: ConversationState; readonly unknownEvent: UnknownEvent | null }> {
  let unknownEvent: UnknownEvent | null = null
  const { state } = await readWhole(store, id, bound, async function* (pages) {
    unknownEvent = null
    for await (const page of pages) {
      unknownEvent = unknownIn(page)
      yield unknownEvent ? { ...page, events: { [Symbol.iterator]: () => knownOf(page) } } : page
      if (unknownEvent) return
    }
  })
  return { state, unknownEvent }
}

function unknownIn(page: EventPage): UnknownEvent | null {
  return knownPart([...page.events]).unknownEvent
}

function knownOf(page: EventPage): Iterator<LogEvent> {
  return knownPart([...page.events]).known[Symbol.iterator]()
}

async function readWhole(
  store: TenantStore,
  id: string,
  within: Bound,
  readable: (pages: AsyncIterable<EventPage>) => AsyncIterable<EventPage>,
): Promise<WorkingSet> {
  for (;;) {
    const { summary, page } = await store.pageSince(id, readBounds)
    const origin = { summary }
    const usable = summary && usableBase(summary)
    const base = usable && { ...usable, hasOlder: true }
    // Without a base, the events after the summary are not enough to decide anything.
    const pages = summary && !base ? pagesAfter(store, id) : pagesFrom(store, id, page)
    const begun = { state: base ?? emptyState, lastAt: 0, origin }
    const loaded = await readOn(store, id, begun, readable(pages), { within })
    if (loaded) return loaded
  }
}

/** Folds the pages. Null when they are not of one log, because it was deleted meanwhile, or do not start with `expected`. */
async function readOn(
  store: TenantStore,
  id: string,
  known: WorkingSet,
  pages: AsyncIterable<EventPage>,
  { within, expected }: { readonly within: Bound; readonly expected?: EventPlace },
): Promise<WorkingSet | null> {
  let workingSet = known
  let first: EventPlace | null = null
  let isOnePage = true
  for await (const page of pages) {
    isOnePage = first === null
    first ??= page.first
    if (expected && !isSameLog(expected, { first })) return null
    const state = foldWithin(page.events, workingSet.state, within.most, within.kept)
    if (state.turns.length === 0 && page.first?.seq === 1) refuseSession(page)
    workingSet = { ...workingSet, state, lastAt: page.last?.at ?? workingSet.lastAt, weight: stateWeight(state) }
  }
  return isOnePage || !first || (await isStillThere(store, id, first)) ? workingSet : null
}

/** The fold of a conversation ignores all of a session, which would then look like a conversation without turns. */
function refuseSession({ events }: EventPage): void {
  for (const { type, content, conversationId } of events) {
    if (type === 'flow_started') throw new NotAConversationError(conversationId, content.flow)
    return
  }
}

export function withEvents(known: WorkingSet, events: readonly LogEvent[]): WorkingSet {
  return grown(known, events, foldEvents(events, known.state), events.at(-1)?.at ?? known.lastAt)
}

/** The working set after these events, which the caller has already folded. */
export function grown(
  known: WorkingSet,
  events: readonly LogEvent[],
  state: ConversationState,
  lastAt: number,
): WorkingSet {
  rememberTrim(known.state, state)
  return { ...known, state, lastAt, weight: weightOfSet(known) + eventsWeight(events) }
}
