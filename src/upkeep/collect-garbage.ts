import { checkDuration, checkId } from '../store/checks.ts'
import type { Store } from '../store/store.ts'
import type { Collected, CollectRequest } from '../store/upkeep.ts'
import { upkeepOf } from './whole-store.ts'

/** What `collectGarbage` removes beside what nothing can reach. */
export type GarbageOptions = {
  /** Only this one's; rows of conversations that are gone name none, and stay. Default: all. */
  readonly tenant?: string
  /** Audit rows older than this go. Default: they stay. */
  readonly auditOlderThanMs?: number
  /** Files that were uploaded and never sent go, too. Only while nothing is being sent: an upload under way looks the same. Default: they stay. */
  readonly unsent?: boolean
  /** Gives back room on the disk, where the backend does not do so by itself; it rewrites the file. Default: false. */
  readonly compact?: boolean
  /** Only counts. Default: false. */
  readonly dryRun?: boolean
  /** Ends the work between two portions; what was removed is gone. */
  readonly signal?: AbortSignal
}

/** What was removed, or would be. */
export type Garbage = {
  readonly modelCalls: number
  /** Blobs that nothing refers to, with their size. */
  readonly blobs: number
  readonly blobBytes: number
  /** Pins of uploads; the blobs they kept are among the blobs, unless it only counted. */
  readonly pins: number
  /** Rows of conversations that are gone. */
  readonly orphans: number
  readonly isCompacted: boolean
}

const batchSize = 500

/** Removes what provably nobody needs any more, a little at a time, so that others are not held up. */
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
