import type { Rebuilt, Upkeep, UpkeepReader } from '../store/upkeep.ts'
import { ConversationExaminer } from './examine-conversation.ts'
import { finishExamination } from './finish-examination.ts'

/** What a repair did to one conversation, or why it did nothing. */
export type Repair = {
  readonly tenant: string | null
  /** Null for rows of deleted conversations. */
  readonly id: string | null
  /** `held`: a process has its lease. `moved`: it changed during every attempt. `nothing`: it needs no repair any more. */
  readonly outcome: 'repaired' | 'held' | 'moved' | 'nothing'
  readonly did: readonly string[]
}

const attempts = 5

/** Examines a conversation again and rebuilds whatever differs from its log, in one transaction that fails if the conversation changed meanwhile. */
export async function repairConversation(
  upkeep: Upkeep,
  { tenant, id }: { readonly tenant: string; readonly id: string },
): Promise<Repair> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const plan = await upkeep.snapshot((reader) => planRepair(reader, tenant, id))
    if (!plan) return { tenant, id, outcome: 'nothing', did: [] }
    const outcome = await upkeep.rebuild(tenant, id, plan.rebuilt)
    // Durable from here: the derived rows match the log.
    if (outcome === 'ok') return { tenant, id, outcome: 'repaired', did: plan.did }
    if (outcome === 'held') return { tenant, id, outcome, did: [] }
  }
  return { tenant, id, outcome: 'moved', did: [] }
}

type Plan = { readonly rebuilt: Rebuilt; readonly did: readonly string[] }

/** Null when there is nothing to rebuild. */
async function planRepair(reader: UpkeepReader, tenant: string, id: string): Promise<Plan | null> {
  const first = await examineConversation(reader, tenant, id, new Set())
  if (!first) return null
  const wanted = new Set(first.examiner.problems.calls.filter((call) => !call.isUnlogged).map(({ callId }) => callId))
  // Examined a second time to write complete rows: the first pass keeps none.
  const { examiner, columns } = wanted.size === 0 ? first : (await examineConversation(reader, tenant, id, wanted))!
  const { conversation, problems, findings } = examiner
  const did = findings.filter((found) => found.isDerived).map(({ code, problem }) => `${code}: ${problem}`)
  if (did.length === 0) return null
  const { lastSeq, updatedAt } = conversation
  const kept = new Map(problems.calls.map(({ callId, meta = null }) => [callId, { meta }]))
  return {
    did,
    rebuilt: {
      expected: { lastSeq, updatedAt },
      columns,
      putCalls: [...examiner.wholeCalls().values()].map((call) => ({ ...call, ...kept.get(call.id) })),
      removeCalls: problems.calls.filter((call) => call.isUnlogged).map(({ callId }) => callId),
      bases: problems.bases,
      putBlobRefs: problems.refs,
      removeBlobRefs: problems.unneededRefs,
    },
  }
}

async function examineConversation(reader: UpkeepReader, tenant: string, id: string, wanted: ReadonlySet<string>) {
  const conversation = await reader.conversation(tenant, id)
  if (!conversation) return null
  const summarySeqs = await reader.summarySeqs(tenant, id)
  const examiner = new ConversationExaminer(conversation, tenant, { now: reader.now, summarySeqs, wanted })
  for await (const row of reader.rows(tenant, id)) examiner.row(row)
  const columns = await finishExamination(reader, examiner)
  return { examiner, columns }
}
