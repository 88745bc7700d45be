import type { Json } from '../../src/base/json.ts'
import type { LogEvent } from '../../src/log/events.ts'
import type { Snapshot } from '../../src/log/snapshot.ts'
import type { PersistContext, Persistence } from '../../src/snapshot/persistence.ts'
import type { Store } from '../../src/store/store.ts'

export type Taken = PersistContext & {
  readonly scope: unknown
  readonly state: Snapshot
  /** The log as it was in the store when the snapshot was taken. */
  readonly logThen: readonly LogEvent[]
}

export type SnapshotBook = {
  readonly persistence: Persistence
  readonly taken: readonly Taken[]
  /** What `loadState` was asked for. */
  readonly asked: readonly {
    readonly scope: unknown
    readonly agentId: string
    readonly conversationId: string | null
  }[]
  /** What `loadState` gives, by conversation. */
  readonly kept: Map<string, unknown>
}

/** An app that writes down every snapshot it is given. */
export function snapshotBook(store: Store): SnapshotBook {
  const taken: Taken[] = []
  const asked: SnapshotBook['asked'][number][] = []
  const kept = new Map<string, unknown>()
  const persistence: Persistence = {
    async persistState(scope, state, context) {
      const logThen = context.conversationId === null ? [] : await store.streamEvents(context.conversationId)
      taken.push({ ...context, scope, state, logThen })
    },
    async loadState(scope, context) {
      asked.push({ scope, ...context })
      return (kept.get(context.conversationId ?? '') ?? null) as Json
    },
  }
  return { persistence, taken, asked, kept }
}
