import { createHash } from 'node:crypto'
import { checkId } from '../store/checks.ts'
import type { Store } from '../store/store.ts'
import type { BlobHead, Orphans, Upkeep } from '../store/upkeep.ts'
import { ConversationExaminer } from './examine-conversation.ts'
import { finishExamination } from './examine-one.ts'
import { ExportWriter, walkStore } from './export-store.ts'
import { type Finding, finding } from './finding.ts'
import { type Repair, repairConversation } from './repair-conversation.ts'
import { type OnProgress, upkeepOf } from './whole-store.ts'

/** What `examineStore` looks at, what it may do, and who is told. */
export type ExamineOptions = {
  /** Only this one. Default: all. */
  readonly tenant?: string
  /** Rebuilds what is derived where it differs, conversation by conversation; never touches events. Default: it only looks. */
  readonly repair?: boolean
  /** The agents there is code for, and `flow:<name>` of flows: work for others is told of. Default: nobody says. */
  readonly agents?: readonly string[]
  /** What it returns is waited for. */
  readonly onFinding?: (finding: Finding) => unknown
  /** What it returns is waited for. */
  readonly onRepair?: (repair: Repair) => unknown
  readonly onProgress?: OnProgress
  /** Ends the work between two conversations, or in a long one; what was repaired stays. */
  readonly signal?: AbortSignal
}

/** What `examineStore` found: after the repair, where there was one. */
export type Examination = {
  readonly conversations: number
  /** Of all that the store holds, as `exportStore` has it. */
  readonly digest: string
  readonly faults: number
  readonly notices: number
  readonly repaired: number
}

/**
 * Reads all of a store as it is at one moment, and judges every row by the log it belongs to. With `repair` it rebuilds what is derived, and looks again. Safe
 * while others work on the store: a conversation that somebody holds is left to them.
 */
export async function examineStore(store: Pick<Store, 'upkeep'>, options: ExamineOptions = {}): Promise<Examination> {
  const { tenant, repair, onRepair, signal } = options
  if (tenant !== undefined) checkId('tenant', tenant)
  const upkeep = upkeepOf(store)
  const damaged = new Map<string, { tenant: string; id: string }>()
  let hasOrphans = false
  const first = await examine(upkeep, options, (found) => {
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
  return { ...(await examine(upkeep, quietly, () => {})), repaired }
}

type Result = Omit<Examination, 'repaired'>

function examine(
  upkeep: Upkeep,
  { tenant, agents, onFinding, onProgress, signal }: ExamineOptions,
  also: (found: Finding) => void,
): Promise<Result> {
  return upkeep.snapshot(async (reader) => {
    const writer = new ExportWriter(() => {})
    const total = await reader.count(tenant ?? null)
    let [faults, notices, rows] = [0, 0, 0]
    let current = ''
    let examined: ConversationExaminer | null = null
    const tell = async (found: Finding): Promise<void> => {
      if (found.severity === 'fault') faults += 1
      else notices += 1
      also(found)
      await onFinding?.(found)
    }
    const tellProgress = (): void => {
      signal?.throwIfAborted()
      onProgress?.({ done: writer.conversations, total, rows })
    }
    tellProgress()
    await walkStore(reader, tenant ?? null, {
      tenant(found) {
        current = found
        return writer.tenant(found)
      },
      async blob(blob, bytes) {
        signal?.throwIfAborted()
        for (const found of judgeBlob(current, blob, bytes)) await tell(found)
        await writer.blob(blob, bytes)
      },
      async conversation(conversation, of) {
        const summarySeqs = await reader.summarySeqs(of, conversation.id)
        examined = new ConversationExaminer(conversation, of, { now: reader.now, summarySeqs })
        await writer.conversation(conversation, of)
      },
      row(row) {
        rows += 1
        if (rows % 1_000 === 0) tellProgress()
        examined!.row(row)
        return writer.row(row)
      },
      async conversationEnd() {
        await finishExamination(reader, examined!, agents ? new Set(agents) : null)
        for (const found of examined!.findings) await tell(found)
        await writer.conversationEnd()
        tellProgress()
      },
      async snapshot(id, snapshot) {
        if (!isJson(snapshot)) {
          await tell(finding('snapshot_unreadable', { tenant: current, conversation: id }, 'its snapshot is not JSON'))
        }
        await writer.snapshot(id, snapshot)
      },
    })
    if (tenant === undefined) for await (const orphans of reader.orphans()) await tell(judgeOrphans(orphans))
    return { conversations: writer.conversations, digest: await writer.end(), faults, notices }
  })
}

function* judgeBlob(
  tenant: string,
  { hash, pins, references }: BlobHead,
  bytes: Uint8Array | null,
): Generator<Finding> {
  const place = { tenant, conversation: null }
  if (!bytes) yield finding('blob_lost', place, `the bytes of blob ${hash} are gone`)
  else if (createHash('sha256').update(bytes).digest('hex') !== hash) {
    yield finding('blob_damaged', place, `blob ${hash} has other bytes than its name says`)
  }
  if (references === 0 && pins <= 0) {
    yield finding('blob_unreferenced', place, `nothing refers to blob ${hash}, and nobody pins it`)
  }
}

function judgeOrphans({ table, owner, count }: Orphans): Finding {
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
