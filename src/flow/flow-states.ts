import { conversationKey } from '../store/conversation-key.ts'
import type { TenantStore } from '../store/store.ts'
import { foldFlow } from './flow-state.ts'
import { type LoadedFlow, loadFlow } from './load-flow.ts'

/** Keeps the records of the sessions used last, so that going on with one reads only what is new. */
export class FlowStates {
  readonly #kept = new Map<string, LoadedFlow>()
  readonly #limit: number

  constructor(limit = 200) {
    this.#limit = limit
  }

  /** Up to date with the store. Null when there is no session of that id. */
  async load(store: TenantStore, tenant: string, id: string): Promise<LoadedFlow | null> {
    const kept = this.#kept.get(conversationKey(tenant, id))
    const loaded = (kept && (await caughtUp(store, id, kept))) ?? (await loadFlow(store, id))
    if (loaded) this.keep(tenant, id, loaded)
    else this.#kept.delete(conversationKey(tenant, id))
    return loaded
  }

  keep(tenant: string, id: string, loaded: LoadedFlow): void {
    const key = conversationKey(tenant, id)
    this.#kept.delete(key)
    this.#kept.set(key, loaded)
    if (this.#kept.size > this.#limit) this.#kept.delete(this.#kept.keys().next().value!)
  }
}

/** Null when the log is not the one that was folded: it was deleted, and another has its name. */
async function caughtUp(store: TenantStore, id: string, { state, summarisedTo, lastAt }: LoadedFlow) {
  const [last, ...news] = await store.streamEvents(id, { after: state.lastSeq - 1 })
  if (last?.seq !== state.lastSeq || last.at !== lastAt) return null
  if (news.length === 0) return { state, summarisedTo, lastAt }
  return { state: foldFlow(news, state)!, summarisedTo, lastAt: news.at(-1)!.at }
}
