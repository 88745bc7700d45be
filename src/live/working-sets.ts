import type { UnknownEvent } from '../errors/log-errors.ts'
import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { knownPart } from '../log/known-part.ts'
import { type ConversationState, emptyState } from '../log/state.ts'
import { conversationKey } from '../store/conversation-key.ts'
import type { TenantStore } from '../store/store.ts'
import { type Summary, usableBase } from '../store/summary.ts'

/** A folded log, and the time of its last event: with the seq it tells whether the log is still the same one. */
export type WorkingSet = {
  readonly state: ConversationState
  readonly lastAt: number
  readonly origin: Origin
  /** The agent that works on it, where this process has seen that. */
  readonly agent?: string
}

/** What stands for the turns a working set may not have. The same object for as long as it is the same log with the same beginning. */
export type Origin = { readonly summary: Pick<Summary, 'toSeq' | 'version' | 'content'> | null }

/** Keeps the working sets of the conversations used last, so that going on with one reads only what is new. */
export class WorkingSets {
  readonly #kept = new Map<string, WorkingSet>()
  readonly #limit: number

  constructor(limit = 200) {
    this.#limit = limit
  }

  /** Up to date with the store. */
  async load(store: TenantStore, tenant: string, id: string): Promise<WorkingSet> {
    const key = conversationKey(tenant, id)
    const kept = this.#kept.get(key)
    const loaded = (kept && (await caughtUp(store, id, kept))) ?? (await loadWhole(store, id))
    this.keep(tenant, id, loaded)
    return loaded
  }

  /** As it was when it was used last; it may have grown, or be gone. */
  peek(tenant: string, id: string): WorkingSet | null {
    return this.#kept.get(conversationKey(tenant, id)) ?? null
  }

  keep(tenant: string, id: string, workingSet: WorkingSet): void {
    const key = conversationKey(tenant, id)
    const kept = this.#kept.get(key)
    const isNewer = kept?.origin === workingSet.origin && kept.state.lastSeq > workingSet.state.lastSeq
    this.#kept.delete(key)
    this.#kept.set(key, isNewer ? kept : workingSet)
    if (this.#kept.size > this.#limit) this.#kept.delete(this.#kept.keys().next().value!)
  }

  drop(tenant: string, id: string): void {
    this.#kept.delete(conversationKey(tenant, id))
  }
}

/** Null when the log is not the one that was folded: it was deleted, and another has its name. */
export async function caughtUp(store: TenantStore, id: string, known: WorkingSet): Promise<WorkingSet | null> {
  const { state, lastAt } = known
  if (state.lastSeq === 0) return null
  const [last, ...news] = await store.streamEvents(id, { after: state.lastSeq - 1 })
  if (last?.seq !== state.lastSeq || last.at !== lastAt) return null
  return withEvents(known, news)
}

export async function loadWhole(store: TenantStore, id: string): Promise<WorkingSet> {
  const { base, events } = await readWhole(store, id)
  return withEvents(base, events)
}

/** As much of a log as this version can read. For showing it: nothing may be decided on it. */
export async function loadReadable(
  store: TenantStore,
  id: string,
): Promise<{ readonly state: ConversationState; readonly unknownEvent: UnknownEvent | null }> {
  const { base, events } = await readWhole(store, id)
  const { known, unknownEvent } = knownPart(events)
  return { state: withEvents(base, known).state, unknownEvent }
}

async function readWhole(store: TenantStore, id: string): Promise<{ base: WorkingSet; events: readonly LogEvent[] }> {
  const { summary, events } = await store.loadSince(id)
  const origin = { summary }
  const base = summary && usableBase(summary)
  if (base) return { base: { state: base, lastAt: 0, origin }, events }
  // Without a base nothing can be decided from what comes after the summary alone.
  const whole = summary ? await store.streamEvents(id) : events
  return { base: { state: emptyState, lastAt: 0, origin }, events: whole }
}

export function withEvents(known: WorkingSet, events: readonly LogEvent[]): WorkingSet {
  return { ...known, state: foldEvents(events, known.state), lastAt: events.at(-1)?.at ?? known.lastAt }
}
