import { type Clock, withTimeout } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Store } from '../store/store.ts'

/** Whether a process can do its work now. */
export type Readiness = {
  readonly isReady: boolean
  /** Whether a read of the store was answered in time. */
  readonly store: 'ok' | 'failed' | 'silent'
  /** `stuck`: it has not been able to look for work for a while. `off`: this node has none (`work: false`). */
  readonly worker: 'ok' | 'stuck' | 'off' | 'closed'
}

type Asked = {
  readonly store: Store
  readonly clock: Clock
  readonly worker: { readonly isClosed: boolean; isStuck(): boolean } | null
  readonly timeoutMs: number
}

/** Asks the store and the worker. Never rejects, and takes no longer than `timeoutMs`. */
export async function readinessOf({ store, clock, worker, timeoutMs }: Asked): Promise<Readiness> {
  const answered = await withTimeout<Readiness['store']>(isAnswered(store), timeoutMs, clock, () => 'silent')
  const working = worker === null ? 'off' : worker.isClosed ? 'closed' : worker.isStuck() ? 'stuck' : 'ok'
  const isReady = answered === 'ok' && (working === 'ok' || working === 'off')
  return { isReady, store: answered, worker: working }
}

async function isAnswered(store: Store): Promise<'ok' | 'failed'> {
  try {
    await store.getConversation('perdure-readiness')
    return 'ok'
  } catch {
    // Why is logged where the work fails; here it only matters that it does.
    return 'failed'
  }
}

type AuditSweepOptions = {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  /** Rows older than this are removed. */
  readonly ttlMs: number
  /** The tenants of conversations that this process has seen: a store does not list its tenants. */
  readonly tenants: ReadonlySet<string>
}

const longestPauseMs = 3_600_000
const pageSize = 100

/** Removes old audit rows now and then, conversation by conversation. What fails is logged and tried again at the next sweep. */
export function sweepAudit({ store, clock, logger, ttlMs, tenants }: AuditSweepOptions): () => void {
  let isStopped = false
  let cancel = (): void => {}

  async function sweep(): Promise<void> {
    for (const tenant of tenants) {
      for (let before: string | undefined; !isStopped; ) {
        const page = await store.forTenant(tenant).listConversations({ limit: pageSize, ...(before ? { before } : {}) })
        for (const { id } of page) if (!isStopped) await store.forTenant(tenant).gcModelCalls(id, ttlMs)
        before = page.at(-1)?.id
        if (page.length < pageSize) break
      }
    }
  }

  function next(): void {
    if (isStopped) return
    cancel = clock.after(Math.min(ttlMs, longestPauseMs), () => {
      sweep()
        .catch((error: unknown) => {
          if (!isStopped) logger.warn('old audit rows could not be removed; trying again later', { error })
        })
        .finally(next)
    })
  }

  next()
  return () => {
    isStopped = true
    cancel()
  }
}
