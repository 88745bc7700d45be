import { checkDuration, checkId } from '../store/checks.ts'
import type { Store } from '../store/store.ts'
import type { Collected, CollectRequest } from '../store/upkeep.ts'
import { upkeepOf } from './maintenance.ts'

/** What `collectGarbage` removes beside unreachable rows. */
export type GarbageOptions = {
  /** Only this tenant. Rows of deleted conversations name no tenant and stay. Default: all tenants. */
  readonly tenant?: string
  /** Removes audit rows older than this. Default: they stay. */
  readonly auditOlderThanMs?: number
  /**
   * Also removes files that were uploaded and never sent. Use it only while no messages are being sent: an upload in progress looks the same. Default: false.
   */
  readonly unsent?: boolean
  /** Returns free space to the disk, where the backend does not do so itself; this rewrites the database file. Default: false. */
  readonly compact?: boolean
  /** Only counts. Default: false. */
  readonly dryRun?: boolean
  /** Stops the work between two batches. Rows that were removed stay removed. */
  readonly signal?: AbortSignal
}

/** What was removed, or would be removed. */
export type Garbage = {
  readonly modelCalls: number
  /** Blobs without references, and their size. */
  readonly blobs: number
  readonly blobBytes: number
  /** Upload pins. The blobs they kept are counted as blobs, except in a dry run. */
  readonly pins: number
  /** Rows of deleted conversations. */
  readonly orphans: number
  readonly isCompacted: boolean
}

const batchSize = 500

/** Removes rows that are provably unreachable, in small batches, so that other writers are not held up. */
export async function collectGarbage(
  store: Pick<Store, 'upkeep'>,
  { tenant, auditOlderThanMs, unsent = false, compact = false, dryRun = false, signal }: GarbageOptions = {},
): Promise<Garbage> {
  if (tenant !== undefined) checkId('tenant', tenant)
  if (auditOlderThanMs !== undefined) checkDuration('auditOlderThanMs', auditOlderThanMs, 0)
  const upkeep = upkeepOf(store)

  async function collect(what: CollectRequest['what']): Promise<Collected> {
    const limit = dryRun ? Number.MAX_SAFE_INTEGER : batchSize
    const request = { what, tenant: tenant ?? null, olderThanMs: auditOlderThanMs ?? 0, limit, isDryRun: dryRun }
    let [rows, bytes] = [0, 0]
    for (;;) {
      signal?.throwIfAborted()
      const collected = await upkeep.collect(request)
      rows += collected.rows
      bytes += collected.bytes
      if (dryRun || collected.rows === 0) return { rows, bytes }
    }
  }

  const modelCalls = auditOlderThanMs === undefined ? 0 : (await collect('model_calls')).rows
  const derived = (await collect('derived_orphans')).rows
  const orphans = derived + (await collect('orphans')).rows
  const pins = unsent ? (await collect('pins')).rows : 0
  const blobs = await collect('blobs')
  signal?.throwIfAborted()
  const isCompacted = compact && !dryRun && upkeep.compact !== undefined
  if (isCompacted) await upkeep.compact!()
  return { modelCalls, blobs: blobs.rows, blobBytes: blobs.bytes, pins, orphans, isCompacted }
}
