import type { Store } from '../../src/store/store.ts'

/** Counts what really ran, so that a run which did less than it was asked to cannot pass. */
export class Tally {
  operations = 0
  sequences = 0
  reopens = 0
  expiries = 0
  refusals = 0
  hints = 0
  values = 0
  hostileValues = 0
  /** What is under way, for when it never ends. */
  current = 'nothing'
  readonly commands = new Map<string, number>()
  readonly methods = new Map<string, number>()

  count(command: string): void {
    this.operations += 1
    this.commands.set(command, (this.commands.get(command) ?? 0) + 1)
  }

  /** The same store, with every call of a method counted. */
  counting(store: Store): Store {
    return this.#wrap(store)
  }

  #wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, name) => {
        const member = object[name as keyof T] as unknown
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          this.methods.set(String(name), (this.methods.get(String(name)) ?? 0) + 1)
          const result = (member as (...args: unknown[]) => unknown).apply(object, args)
          return name === 'forTenant' ? this.#wrap(result as object) : result
        }
      },
    })
  }
}

/** Every method of the contract, `Store` and `TenantStore`; the types below fail to compile when one is missing. */
export const allMethods = Object.keys({
  forTenant: 0,
  dueWork: 0,
  claimDue: 0,
  renewLeases: 0,
  keepLeases: 0,
  movedLogs: 0,
  onWake: 0,
  deleteTenant: 0,
  close: 0,
  appendEvent: 0,
  streamEvents: 0,
  pageEvents: 0,
  loadSince: 0,
  pageSince: 0,
  putSummary: 0,
  latestSummary: 0,
  putConversation: 0,
  getConversation: 0,
  putFsmState: 0,
  standing: 0,
  upsertToolCall: 0,
  getToolCall: 0,
  pendingToolCalls: 0,
  resolveToolCall: 0,
  scheduleExpiry: 0,
  cancelExpiry: 0,
  putModelCall: 0,
  modelCalls: 0,
  gcModelCalls: 0,
  commit: 0,
  listConversations: 0,
  deleteConversation: 0,
  pendingInbox: 0,
  fork: 0,
  acquireLease: 0,
  claimLease: 0,
  releaseLease: 0,
  takeBackLapse: 0,
  unquarantine: 0,
  putBlob: 0,
  getBlob: 0,
  putSnapshot: 0,
  getSnapshot: 0,
} satisfies Record<
  Exclude<
    keyof Store,
    | 'accounts'
    | 'announce'
    | 'changedSince'
    | 'durable'
    | 'jobs'
    | 'liveBus'
    | 'nodes'
    | 'outbox'
    | 'pendingCallNames'
    | 'steering'
    | 'tally'
    | 'upkeep'
  >,
  0
>)
