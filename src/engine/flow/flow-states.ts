import { WeightedLru } from '../../base/weighted-lru.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import { pagesFrom, readBounds } from '../../store/log-pages.ts'
import type { TenantStore } from '../../store/store.ts'
import { boundless, type FlowBound, flowBound, type LoadedFlow, loadFlow, readFlow } from './load-flow.ts'
import { flowWeight, trimFlow } from './trim-flow.ts'

/** Keeps the records of the sessions used last, so that going on with one reads only what is new. None that is kept is larger than `flowBound`. */
export class FlowStates {
  readonly #kept: WeightedLru<LoadedFlow>

  constructor({ entries = 200, bytes = 32 * 1024 * 1024 } = {}) {
    this.#kept = new WeightedLru({ entries, bytes }, ({ state }) => flowWeight(state))
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
  if (page.first?.seq !== lastSeq || page.first.at !== known.lastAt) return null
  return readFlow(known, pagesFrom(store, id, page), within)
}
