import type { Rebuilt, Upkeep, UpkeepReader } from '../store/upkeep.ts'
import { ConversationExaminer } from './examine-conversation.ts'
import { finishExamination } from './examine-one.ts'

/** What a repair did to one conversation, or why it did nothing. */
export type Repair = {
  readonly tenant: string | null
  /** Null when it is about rows of conversations that are gone. */
  readonly id: string | null
  /** `held`: somebody works on it; `moved`: it changed each time it was looked at; `nothing`: by now there is nothing to do. */
  readonly outcome: 'repaired' | 'held' | 'moved' | 'nothing'
  readonly did: readonly string[]
}

const attempts = 5

/** Examines a conversation anew and rebuilds in one transaction what differs from its log, as long as neither changes under it. */
export async function repairConversation(
  upkeep: Upkeep,
  { tenant, id }: { readonly tenant: string; readonly id: string },
): Promise<Repair> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const plan = await upkeep.snapshot((reader) => planRepair(reader, tenant, id))
    if (!plan) return { tenant, id, outcome: 'nothing', did: [] }
    const outcome = await upkeep.rebuild(tenant, id, plan.rebuilt)
    // Durable from here: what is derived is what the log says.
    if (outcome === 'ok') return { tenant, id, outcome: 'repaired', did: plan.did }
    if (outcome === 'held') return { tenant, id, outcome, did: [] }
  }
  return { tenant, id, outcome: 'moved', did: [] }
}

type Plan = { readonly rebuilt: Rebuilt; readonly did: readonly string[] }

/** Null when nothing is to be rebuilt. */
async function planRepair(reader: UpkeepReader, tenant: string, id: string): Promise<Plan | null> {
  const first = await examined(reader, tenant, id, new Set())
  if (!first) return null
  const wanted = new Set(first.examiner.problems.calls.filter((call) => !call.isUnlogged).map(({ callId }) => callId))
  // A second time where rows have to be written whole: the first keeps none of them.
  const { examiner, columns } = wanted.size === 0 ? first : (await examined(reader, tenant, id, wanted))!
  const { conversation, problems, findings } = examiner
  const did = findings.filter((found) => found.isDerived).map(({ code, problem }) => `${code}: ${problem}`)
  if (did.length === 0) return null
  const { lastSeq, updatedAt } = conversation
  const deadlines = new Map(problems.calls.map(({ callId, deadline }) => [callId, deadline]))
  return {
    did,
    rebuilt: {
      expected: { lastSeq, updatedAt },
      columns,
      putCalls: [...examiner.wholeCalls().values()].map((call) => ({ ...call, ...deadlines.get(call.id) })),
      removeCalls: problems.calls.filter((call) => call.isUnlogged).map(({ callId }) => callId),
      bases: problems.bases,
      putBlobRefs: problems.refs,
      removeBlobRefs: problems.unneededRefs,
    },
  }
}

async function examined(reader: UpkeepReader, tenant: string, id: string, wanted: ReadonlySet<string>) {
  const conversation = await reader.conversation(tenant, id)
  if (!conversation) return null
  const summarySeqs = await reader.summarySeqs(tenant, id)
  const examiner = new ConversationExaminer(conversation, tenant, { now: reader.now, summarySeqs, wanted })
  for await (const row of reader.rows(tenant, id)) examiner.row(row)
  const columns = await finishExamination(reader, examiner)
  return { examiner, columns }
}
