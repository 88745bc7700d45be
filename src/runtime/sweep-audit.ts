import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Store } from '../store/store.ts'

export type AuditSweepOptions = {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  /** Rows older than this are removed. */
  readonly ttlMs: number
  /** Those whose conversations this process has heard of: a store does not list its tenants. */
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
