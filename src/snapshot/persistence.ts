import type { Json } from '../base/json.ts'
import type { BuiltinScope, Scope } from '../define/scope.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Store } from '../store/store.ts'

/** Why a snapshot is taken. */
export type Lifecycle =
  /** A turn has ended: completed, or halted by a limit or a hook. */
  | 'on_completion'
  | 'on_cancel'
  | 'on_error'
  /** Nothing can go on until somebody answers. */
  | 'on_interrupt'
  /** The one that comes after it was announced. */
  | 'on_title_generated'
  /** This process lets go of it: it was stopped, or the runtime is being closed. */
  | 'on_shutdown'

/** Which snapshot is asked for. */
export type LoadContext = {
  /** The name of the agent. */
  readonly agentId: string
  readonly conversationId: string | null
}

/** Which snapshot it is, and why it was taken. */
export type PersistContext = LoadContext & { readonly lifecycle: Lifecycle }

/**
 * Where an app keeps snapshots, beside the log and never instead of it. The scope comes first, is the app's own, and is never in the state:
 * it is for finding out whose rows these are. Null: nobody in particular.
 */
export type Persistence = {
  /** What fails, throws or takes too long is logged and changes nothing else. */
  persistState(scope: Scope | null, state: Snapshot, context: PersistContext): unknown
  /**
   * Called before the first message of a conversation whose log is empty. Returns what `persistState` was given, in this version or an older
   * one; null when there is none, or none for this scope. A throw, an error or `{ ok: false, error }` is `snapshot_load_failed`: nothing is sent.
   */
  loadState(scope: Scope | null, context: LoadContext): Json | undefined | Promise<Json | undefined>
}

/** What `storeSnapshots` takes. */
export type StoreSnapshotsOptions = {
  /** The tenant of a scope; give the runtime's. Default: the scope's `tenant`, else 'default'. */
  readonly tenant?: (scope: Scope) => string
}

/** Keeps snapshots in a store, the newest of each conversation. The tenant is a part of the key: another's are not found. */
export function storeSnapshots(store: Store, { tenant = ownTenant }: StoreSnapshotsOptions = {}): Persistence {
  const storeOf = (scope: Scope | null) => store.forTenant(scope === null ? 'default' : tenant(scope))
  return {
    async persistState(scope, state, { agentId, conversationId }) {
      await storeOf(scope).putSnapshot(keyOf({ agentId, conversationId }), {
        agentId,
        conversationId,
        state: state as unknown as Json,
      })
    },
    async loadState(scope, context) {
      const kept = (await storeOf(scope).getSnapshot(keyOf(context))) as Partial<Kept> | null
      if (kept?.agentId !== context.agentId || kept.conversationId !== context.conversationId) return null
      return kept.state ?? null
    },
  }
}

type Kept = LoadContext & { readonly state: Json }

/** Under the id of its conversation, a snapshot is deleted with it. */
function keyOf({ agentId, conversationId }: LoadContext): string {
  return conversationId ?? `agent:${agentId}`
}

function ownTenant(scope: Scope): string {
  return (scope as Partial<BuiltinScope>).tenant ?? 'default'
}
