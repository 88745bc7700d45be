import type { EventPage, Store, TenantStore } from '../../src/store/store.ts'

export type CountingStore = {
  readonly store: Store
  /** Rows that reads have returned so far, and how often each method was called. */
  readonly counts: { rows: number; readonly calls: Record<string, number> }
}

/** The same store, with a count of what is read from it. */
export function countingStore(store: Store): CountingStore {
  const counts = { rows: 0, calls: {} as Record<string, number> }

  function counted<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name: string) {
        const member: unknown = Reflect.get(object, name)
        if (typeof member !== 'function') return member
        if (name === 'forTenant') return (tenant: string) => counted(store.forTenant(tenant))
        if (!(name in rowsOf)) return member.bind(object)
        return async (...args: unknown[]) => {
          const result: unknown = await member.apply(object, args)
          counts.rows += rowsOf[name]!(result)
          counts.calls[name] = (counts.calls[name] ?? 0) + 1
          return result
        }
      },
    })
  }

  return { store: counted(store), counts }
}

const list = (rows: unknown): number => (rows as readonly unknown[]).length
const page = (read: unknown): number => [...(read as EventPage).events].length
const one = (row: unknown): number => (row === null ? 0 : 1)

const rowsOf: Record<string, (result: unknown) => number> = {
  streamEvents: list,
  pendingToolCalls: list,
  modelCalls: list,
  listConversations: list,
  pendingInbox: list,
  dueWork: list,
  latestSummary: one,
  getConversation: one,
  getToolCall: one,
  getBlob: one,
  pageEvents: page,
  pageSince: (result) => {
    const { summary, page: since } = result as { summary: unknown; page: EventPage }
    return one(summary) + page(since)
  },
  loadSince: (result) => {
    const { summary, events } = result as { summary: unknown; events: readonly unknown[] }
    return one(summary) + events.length
  },
}
