import { type Clock, withTimeout } from '../../base/clock.ts'
import { Lru } from '../../base/lru.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { LogOwner } from '../log-owner.ts'
import type { EngineNode } from '../node.ts'
import { forkerOf } from '../scopes.ts'

type SnapshotNode = Pick<EngineNode, 'store' | 'workingSets' | 'scopes' | 'snapshots' | 'clock' | 'logger'>

/** How long reading the log of one conversation may take. */
const loadMs = 2_000

/** As many as there are working sets in memory: others were released long ago. */
const most = 200

/** Takes snapshots of the conversations that this process worked on recently, as it releases them: best effort, like everything at a shutdown. */
export class ShutdownSnapshots {
  readonly #node: SnapshotNode
  readonly #workedOn = new Lru<ConversationRef & { readonly agentId: string }>({ entries: most })

  constructor(node: SnapshotNode) {
    this.#node = node
  }

  /** This process works on it now. */
  remember(ref: ConversationRef, agentId: string): void {
    if (!this.#node.snapshots) return
    this.#workedOn.set(keyOf(ref), { ...ref, agentId })
  }

  async takeAll(): Promise<void> {
    await Promise.all(this.#workedOn.values().map((ref) => this.take(ref)))
  }

  async take(ref: ConversationRef): Promise<void> {
    const { store, workingSets, scopes, snapshots, clock, logger } = this.#node
    const { tenant, id: conversationId, agentId } = this.#workedOn.get(keyOf(ref)) ?? { ...ref, agentId: null }
    if (!snapshots || agentId === null) return
    this.#workedOn.delete(keyOf(ref))
    try {
      const own = store.forTenant(tenant)
      const loading = workingSets.loadWhole(own, tenant, conversationId)
      const workingSet = await withTimeout(loading, loadMs, clock, () => {
        throw new Error(`the store did not answer within ${loadMs} ms`)
      })
      const scopesOfIt = scopes.forConversation(tenant, conversationId, await forkerOf(own, conversationId))
      await snapshots.persist('on_shutdown', { agentId, conversationId, workingSet, scopes: scopesOfIt, store: own })
    } catch (error) {
      logger.warn('no snapshot could be taken at the shutdown', { tenant, id: conversationId, error })
    }
  }
}

function keyOf({ tenant, id }: ConversationRef): string {
  return conversationKey(tenant, id)
}

/** How long all owners together may take to close. */
const letGoMs = 2_000

type ClosingNode = Pick<EngineNode, 'backgroundTasks' | 'keepAlive' | 'clock' | 'logger'>

type Held = { readonly owner: Pick<LogOwner, 'close' | 'loseLease'> | null; readonly done: Promise<unknown> }

/**
 * Closes all owners and waits for them. Those that a store without answers keeps from closing are abandoned: nothing more is done under their leases,
 * which lapse, and they do not keep the process from ending.
 */
export async function releaseAllWithin(held: readonly Held[], node: ClosingNode): Promise<void> {
  const { keepAlive, clock, logger } = node
  const isLetGo = await withTimeout<boolean>(letGo(held, node), letGoMs, clock, () => false)
  if (isLetGo) return
  logger.warn('closing: some conversations were not released in time; other nodes take them when their leases lapse')
  for (const { owner } of held) owner?.loseLease()
  keepAlive.end()
}

async function letGo(held: readonly Held[], { backgroundTasks, logger }: ClosingNode): Promise<true> {
  const closing = held.map(async ({ owner, done }) => {
    await owner?.close()
    await done
  })
  await backgroundTasks.close()
  for (const result of await Promise.allSettled(closing)) {
    if (result.status === 'rejected') logger.error('closing a conversation failed', { error: result.reason })
  }
  return true
}

/** Resolves when all have settled, or after `ms`. */
export async function waitForAll(ms: number, promises: readonly Promise<unknown>[], clock: Clock): Promise<void> {
  await withTimeout(Promise.allSettled(promises), ms, clock, () => [])
}
