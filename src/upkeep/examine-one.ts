import { childCalls, childIdOf } from '../log/child-call.ts'
import { decode } from '../log/codec.ts'
import type { FsmState } from '../log/fsm-state.ts'
import type { Rebuilt } from '../store/upkeep.ts'
import type { UpkeepReader } from '../store/upkeep-reader.ts'
import type { ConversationExaminer, LogFacts } from './examine-conversation.ts'
import { judgeColumns } from './judge-columns.ts'

/** Judges a conversation whose rows have all been told, also by what is around it. Returns what its columns must be. */
export async function finishExamination(
  reader: UpkeepReader,
  examined: ConversationExaminer,
  agents: ReadonlySet<string> | null = null,
): Promise<Rebuilt['columns']> {
  const { tenant, parent } = examined
  const facts = await examined.end(async (hash) => (await reader.blob(tenant, hash)) !== null)
  if (parent?.callId !== undefined && !(await reader.conversation(tenant, parent.id))) {
    examined.add('parent_missing', `it is a child agent of '${parent.id}', which is gone`)
  }
  const isChildMissing = await judgeChildren(reader, examined, facts)
  const columns = judgeColumns(examined, facts, {
    now: reader.now,
    lastEpoch: reader.lastEpoch,
    isChildMissing,
    agents,
  })
  judgeWhatStays(examined, columns)
  return columns
}

/** What no log gives back must be readable as it is. */
function judgeWhatStays(examined: ConversationExaminer, { title, fsmState }: Rebuilt['columns']): void {
  const { conversation } = examined
  if (title === undefined) examined.mustBeReadable('title', conversation.title)
  if (fsmState === undefined) examined.mustBeReadable('cached state', conversation.fsmState)
}

/** Whether a child agent that is waited for was never started. One that has ended without telling is told of. */
async function judgeChildren(
  reader: UpkeepReader,
  examined: ConversationExaminer,
  { folded }: LogFacts,
): Promise<boolean> {
  if (folded?.kind !== 'conversation') return false
  let isMissing = false
  for (const { callId } of childCalls(folded.state)) {
    const child = await reader.conversation(examined.tenant, childIdOf(callId))
    if (!child || child.lastSeq === 0) isMissing = true
    else if (child.wakeAt === null && phaseIn(child.fsmState) === 'idle') {
      examined.add('wait_in_vain', `call '${callId}' waits for the child agent '${child.id}', which has ended`)
    }
  }
  return isMissing
}

function phaseIn(fsmState: string | null): string | null {
  try {
    return fsmState === null ? null : (decode(fsmState) as unknown as FsmState).state
  } catch {
    return null
  }
}
