import type { Json } from '../base/json.ts'
import type { BuiltinScope } from '../define/create-scope.ts'
import type { Scope } from '../define/register.ts'
import type { Store } from '../store/store.ts'
import type { LoadContext, Persistence } from './persistence.ts'

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
