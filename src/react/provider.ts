import { createContext, createElement, type ReactElement, type ReactNode, useContext, useMemo } from 'react'
import type { Client, RemoteSession } from '../client/create-client.ts'
import type { RemoteRecord } from '../client/pages.ts'
import type { InboxItem } from '../runtime/read/lists.ts'
import type { TotalsFilter } from '../runtime/read/totals.ts'
import { ConversationStore } from './conversation-store.ts'
import { type InboxFilter, InboxStore } from './inbox-store.ts'
import { Link } from './link.ts'
import {
  type ConversationsFilter,
  conversationsList,
  ListStore,
  type SessionsFilter,
  sessionsList,
} from './list-store.ts'
import { ModelCallsStore } from './model-calls-store.ts'
import { SessionStore } from './session-store.ts'
import { TotalsStore } from './totals-store.ts'

const StoresContext = createContext<PageStores | null>(null)

/** What `PerdureProvider` takes. */
export type PerdureProviderProps = {
  /** Make it once, outside of components. */
  readonly client: Client
  readonly children?: ReactNode
}

/** Gives the hooks below it their client. They share one stream for each conversation that is shown. */
export function PerdureProvider({ client, children }: PerdureProviderProps): ReactElement {
  const stores = useMemo(() => new PageStores(client), [client])
  return createElement(StoresContext.Provider, { value: stores }, children)
}

/** The client of the provider. */
export function useClient(): Client {
  return useStores().client
}

export function useStores(): PageStores {
  const stores = useContext(StoresContext)
  if (!stores) throw new Error('There is no PerdureProvider above this component. Wrap the page in one.')
  return stores
}

/** How many stores without a reader are kept, so that a page that is opened again shows its old content at once. */
const keptUnused = 50

/** A component reads its store for the first time in this time after it rendered. */
const renderMs = 10_000

type Entry = { readonly store: unknown; readonly madeAt: number; readonly isUsed: () => boolean }

/** The stores of one provider: components that ask for the same thing share one. */
class PageStores {
  readonly client: Client
  readonly link: Link
  readonly #stores = new Map<string, Entry>()

  constructor(client: Client) {
    this.client = client
    this.link = new Link(client)
  }

  conversation(id: string): ConversationStore {
    const make = () => new ConversationStore(this.link, id)
    return this.#shared(['conversation', id], make, ({ live }) => live.isUsed)
  }

  session(flow: string, id: string): SessionStore {
    const make = () => new SessionStore(this.link, flow, id)
    return this.#shared(['session', flow, id], make, ({ live }) => live.isUsed)
  }

  modelCalls(id: string): ModelCallsStore {
    const make = () => new ModelCallsStore(this.link, this.conversation(id))
    return this.#shared(['model calls', id], make, ({ live }) => live.isUsed)
  }

  conversations(filter: ConversationsFilter): ListStore<RemoteRecord> {
    const make = () => new ListStore(this.link, conversationsList(this.client, filter))
    return this.#shared(['conversations', sorted(filter)], make, ({ live }) => live.isUsed)
  }

  sessions(filter: SessionsFilter): ListStore<RemoteSession> {
    const make = () => new ListStore(this.link, sessionsList(this.client, filter))
    return this.#shared(['sessions', sorted(filter)], make, ({ live }) => live.isUsed)
  }

  inbox(filter: InboxFilter): InboxStore {
    const make = () => new InboxStore(this.link, filter)
    return this.#shared(['inbox', sorted(filter)], make, ({ list }) => list.live.isUsed)
  }

  totals(filter: TotalsFilter): TotalsStore {
    const make = () => new TotalsStore(this.link, filter)
    return this.#shared(['totals', sorted(filter)], make, ({ live }) => live.isUsed)
  }

  /** Takes an item that was answered on this page out of all lists. */
  answered(item: InboxItem): void {
    for (const { store } of this.#stores.values()) if (store instanceof InboxStore) store.answered(item)
  }

  #shared<S>(name: unknown, make: () => S, isUsed: (store: S) => boolean): S {
    const key = JSON.stringify(name)
    const known = this.#stores.get(key)
    if (known) return known.store as S
    const store = make()
    this.#stores.set(key, { store, madeAt: Date.now(), isUsed: () => isUsed(store) })
    const unused = [...this.#stores].filter(([, entry]) => !entry.isUsed() && entry.madeAt < Date.now() - renderMs)
    for (const [other] of unused.slice(0, Math.max(0, unused.length - keptUnused))) this.#stores.delete(other)
    return store
  }
}

/** Filters with the same fields in another order are the same. */
function sorted(filter: object): unknown {
  return Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
}
