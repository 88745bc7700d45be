import type { Rebuilt } from '../store/upkeep.ts'
import type { UpkeepReader } from '../store/upkeep-reader.ts'
import type { ConversationExaminer } from './examine-conversation.ts'
import { judgeColumns } from './judge-columns.ts'
import { owesFamily } from './judge-family.ts'

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
  const { folded } = facts
  await examined.ignored.tell(reader, examined, folded)
  const isOwing = folded?.kind === 'conversation' && (await owesFamily(reader, examined, folded.state))
  const columns = judgeColumns(examined, facts, {
    now: reader.now,
    lastEpoch: reader.lastEpoch,
    isOwing,
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
