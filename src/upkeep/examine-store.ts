import { createHash } from 'node:crypto'
import { checkId } from '../store/checks.ts'
import type { Outbox, SubscriberState } from '../store/outbox.ts'
import type { Store } from '../store/store.ts'
import type { BlobHead, Orphans, Upkeep } from '../store/upkeep.ts'
import { ConversationExaminer } from './examine-conversation.ts'
import { ExportWriter, walkStore } from './export-store.ts'
import { type Finding, finding } from './finding.ts'
import { finishExamination } from './finish-examination.ts'
import { type OnProgress, upkeepOf } from './maintenance.ts'
import { type Repair, repairConversation } from './repair-conversation.ts'

/** What `examineStore` reads, whether it repairs, and its callbacks. */
export type ExamineOptions = {
  /** Only this tenant. Default: all tenants. */
  readonly tenant?: string
  /** Rebuilds derived rows that differ from the log, one conversation at a time; never changes events. Default: false. */
  readonly repair?: boolean
  /** The agents that have code, and `flow:<name>` for flows. Work for any other agent is reported. Default: not checked. */
  readonly agents?: readonly string[]
  /** Waits for the returned promise. */
  readonly onFinding?: (finding: Finding) => unknown
  /** Waits for the returned promise. */
  readonly onRepair?: (repair: Repair) => unknown
  readonly onProgress?: OnProgress
  /** Stops between two conversations, or within a long one. Finished repairs stay. */
  readonly signal?: AbortSignal
}

/** What `examineStore` found; after the repair, where there was one. */
export type Examination = {
  readonly conversations: number
  /** The digest of everything in the store, as `exportStore` computes it. */
  readonly digest: string
  readonly faults: number
  readonly notices: number
  readonly repaired: number
}

/**
 * Reads a whole store at one moment and checks every row against its log. With `repair` it rebuilds derived rows and examines the store again. Safe while other
 * processes use the store: a conversation with a lease is skipped: its holder takes care of it.
 */
export async function examineStore(
  store: Pick<Store, 'upkeep' | 'outbox'>,
  options: ExamineOptions = {},
): Promise<Examination> {
  const { tenant, repair, onRepair, signal } = options
  if (tenant !== undefined) checkId('tenant', tenant)
  const upkeep = upkeepOf(store)
  const damaged = new Map<string, { tenant: string; id: string }>()
  let hasOrphans = false
  const first = await examine(upkeep, store.outbox, options, (found) => {
    if (!found.isDerived) return
    if (found.conversation === null || found.tenant === null) hasOrphans = true
    else
      damaged.set(JSON.stringify([found.tenant, found.conversation]), { tenant: found.tenant, id: found.conversation })
  })
  if (!repair || (damaged.size === 0 && !hasOrphans)) return { ...first, repaired: 0 }
  let repaired = 0
  for (const ref of damaged.values()) {
    signal?.throwIfAborted()
    const done = await repairConversation(upkeep, ref)
    await onRepair?.(done)
    if (done.outcome === 'repaired') repaired += 1
  }
  if (hasOrphans) {
    const done = await removeOrphans(upkeep, tenant ?? null)
    await onRepair?.(done)
  }
  const { onFinding: _, ...quietly } = options
  return { ...(await examine(upkeep, store.outbox, quietly, () => {})), repaired }
}

type Result = Omit<Examination, 'repaired'>

function examine(
  upkeep: Upkeep,
  outbox: Outbox | undefined,
  { tenant, agents, onFinding, onProgress, signal }: ExamineOptions,
  also: (found: Finding) => void,
): Promise<Result> {
  return upkeep.snapshot(async (reader) => {
    const writer = new ExportWriter(() => {})
    const total = await reader.count(tenant ?? null)
    let [faults, notices, rows] = [0, 0, 0]
    let current = ''
    let examiner: ConversationExaminer | null = null
    const report = async (found: Finding): Promise<void> => {
      if (found.severity === 'fault') faults += 1
      else notices += 1
      also(found)
      await onFinding?.(found)
    }
    const reportProgress = (): void => {
      signal?.throwIfAborted()
      onProgress?.({ done: writer.conversations, total, rows })
    }
    reportProgress()
    await walkStore(reader, tenant ?? null, {
      tenant(found) {
        current = found
        return writer.tenant(found)
      },
      async blob(blob, bytes) {
        signal?.throwIfAborted()
        for (const found of blobFindings(current, blob, bytes)) await report(found)
        await writer.blob(blob, bytes)
      },
      async conversation(conversation, of) {
        const summarySeqs = await reader.summarySeqs(of, conversation.id)
        examiner = new ConversationExaminer(conversation, of, { now: reader.now, summarySeqs })
        await writer.conversation(conversation, of)
      },
      row(row) {
        rows += 1
        if (rows % 1_000 === 0) reportProgress()
        examiner!.row(row)
        return writer.row(row)
      },
      async conversationEnd() {
        await finishExamination(reader, examiner!, agents ? new Set(agents) : null)
        for (const found of examiner!.findings) await report(found)
        await writer.conversationEnd()
        reportProgress()
      },
      async snapshot(id, snapshot) {
        if (!isJson(snapshot)) {
          await report(
            finding('snapshot_unreadable', { tenant: current, conversation: id }, 'its snapshot is not JSON'),
          )
        }
        await writer.snapshot(id, snapshot)
      },
      tombstone: (tombstone) => writer.tombstone(tombstone),
    })
    if (tenant === undefined) {
      for await (const orphans of reader.orphans()) await report(orphansFinding(orphans))
      for (const state of (await outbox?.subscribers()) ?? [])
        if (state.stoppedAt !== null) await report(stoppedFinding(state))
    }
    return { conversations: writer.conversations, digest: await writer.end(), faults, notices }
  })
}

function* blobFindings(
  tenant: string,
  { hash, pins, references }: BlobHead,
  bytes: Uint8Array | null,
): Generator<Finding> {
  const place = { tenant, conversation: null }
  if (!bytes) yield finding('blob_lost', place, `the bytes of blob ${hash} are gone`)
  else if (createHash('sha256').update(bytes).digest('hex') !== hash) {
    yield finding('blob_damaged', place, `blob ${hash} does not match its hash`)
  }
  if (references === 0 && pins <= 0) {
    yield finding('blob_unreferenced', place, `blob ${hash} has no reference and no pin`)
  }
}

function stoppedFinding({ name, stoppedAt, waiting, failed }: SubscriberState): Finding {
  const since = new Date(stoppedAt!).toISOString()
  const problem = `no process has claimed the subscriber '${name}' for 7 days: since ${since} nothing is recorded for it (${waiting} wait, ${failed} failed)`
  return finding('subscriber_stopped', { tenant: null, conversation: null }, problem)
}

function orphansFinding({ table, owner, count }: Orphans): Finding {
  const place = { tenant: null, conversation: null }
  const problem = `${count} rows (${table}) belong to '${owner}', which is gone${table === 'blob_ref' ? ', or their blob is' : ''}`
  if (table === 'event') return finding('orphaned_events', place, problem)
  return finding(table === 'call' || table === 'blob_ref' ? 'orphaned_derived_rows' : 'orphaned_rows', place, problem)
}

async function removeOrphans(upkeep: Upkeep, tenant: string | null): Promise<Repair> {
  const request = { what: 'derived_orphans', tenant, olderThanMs: 0, limit: 1_000, isDryRun: false } as const
  let rows = 0
  for (;;) {
    const collected = await upkeep.collect(request)
    rows += collected.rows
    if (collected.rows === 0) return { tenant, id: null, outcome: 'repaired', did: [`removed ${rows} orphaned rows`] }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
