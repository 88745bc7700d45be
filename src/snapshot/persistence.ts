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
  /** The turn cannot continue until a call is answered. */
  | 'on_interrupt'
  /** The conversation got its title; taken after the title was announced. */
  | 'on_title_generated'
  /** This process releases the conversation: it was stopped, or the runtime is being closed. */
  | 'on_shutdown'

/** Identifies a snapshot to load. */
export type LoadContext = {
  /** The name of the agent. */
  readonly agentId: string
  readonly conversationId: string | null
  /**
   * In `persistState` and `deleteState` the owner of the conversation, also after a restart; null when there is none. In `loadState` the id of the caller: there is no
   * log yet that says who opened the conversation. It proves nothing about the snapshot, whose own `owner` does.
   */
  readonly owner: string | null
}

/** Identifies a snapshot, and says why it was taken. */
export type PersistContext = LoadContext & { readonly lifecycle: Lifecycle }

/**
 * Where an application keeps snapshots, beside the log and never instead of it. The scope is the first argument and comes from the application. It is never in
 * the snapshot: use it to find out whose rows these are. Null: no particular user.
 */
export type Persistence = {
  /** Saves a snapshot. A throw or a timeout is logged and changes nothing else. */
  persistState(scope: Scope | null, state: Snapshot, context: PersistContext): unknown
  /**
   * Called by `send` and `continue` for a conversation whose log is empty. Returns what `persistState` saved, in this version or an older one; null when there
   * is none, or none for this scope. The conversation belongs to the `owner` of what is returned, and `authorize` is asked about that owner first; without that
   * member it belongs to the caller. A throw, an error or `{ ok: false, error }` fails the call with `snapshot_load_failed`.
   */
  loadState(scope: Scope | null, context: LoadContext): Json | undefined | Promise<Json | undefined>
  /**
   * Called before a conversation is deleted, and once for each of its child agents. Must succeed when there is nothing to delete. A throw, an error,
   * `{ ok: false, error }` or a timeout fails the deletion with `snapshot_delete_failed`, and the conversation stays.
   */
  deleteState?(scope: Scope | null, context: LoadContext): unknown
}

/** Options of `storeSnapshots`. */
export type StoreSnapshotsOptions = {
  /** Derives the tenant from a scope; must match the runtime's `tenant`. Default: the scope's `tenant`, else 'default'. */
  readonly tenant?: (scope: Scope) => string
}

/** Keeps the newest snapshot of each conversation in a store. The tenant is part of the key, so other tenants' snapshots are not found. The owner is part of the snapshot. */
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
      const saved = (await storeOf(scope).getSnapshot(keyOf(context))) as Partial<SavedSnapshot> | null
      if (saved?.agentId !== context.agentId || saved.conversationId !== context.conversationId) return null
      const { state } = saved
      // Of a snapshot of an earlier version no owner is known, and the caller must not be taken for it.
      return typeof state === 'object' && state !== null ? { owner: null, ...state } : null
    },
    async deleteState(scope, context) {
      const key = keyOf(context)
      // A store deletes a snapshot only together with its conversation, which may be in another store.
      if ((await storeOf(scope).getSnapshot(key)) !== null) await storeOf(scope).putSnapshot(key, null)
    },
  }
}

type Key = Pick<LoadContext, 'agentId' | 'conversationId'>
type SavedSnapshot = Key & { readonly state: Json }

/** Under the conversation's id, a snapshot is deleted together with its conversation. */
function keyOf({ agentId, conversationId }: Key): string {
  return conversationId ?? `agent:${agentId}`
}

function ownTenant(scope: Scope): string {
  return (scope as Partial<BuiltinScope>).tenant ?? 'default'
}
