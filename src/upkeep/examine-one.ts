import { isDeepStrictEqual } from 'node:util'
import { childResult, unrecordable } from '../engine/child/child-calls.ts'
import { childCalls, childIdOf, childTurnIdOf } from '../log/child-call.ts'
import { type ConversationState, findTurn } from '../log/state.ts'
import { decoded } from '../store/rows.ts'
import type { Rebuilt, UpkeepReader } from '../store/upkeep.ts'
import type { ConversationExaminer } from './examine-conversation.ts'
import { checkColumns } from './judge-columns.ts'
import { isWhole } from './log-fold.ts'

/** Finishes the examination of a conversation after its last row, with its parent and children. Returns what its columns must be. */
export async function finishExamination(
  reader: UpkeepReader,
  examiner: ConversationExaminer,
  agents: ReadonlySet<string> | null = null,
): Promise<Rebuilt['columns']> {
  const { tenant, parent } = examiner
  const facts = await examiner.end(async (hash) => (await reader.blob(tenant, hash)) !== null)
  if (parent?.callId !== undefined && !(await reader.conversation(tenant, parent.id))) {
    examiner.add('parent_missing', `it is a child agent of '${parent.id}', which is gone`)
  }
  const { folded } = facts
  await examiner.ignored.report(reader, examiner, folded)
  const isOwing = folded?.kind === 'conversation' && (await owesFamily(reader, examiner, folded.state))
  const columns = checkColumns(examiner, facts, {
    now: reader.now,
    lastEpoch: reader.lastEpoch,
    isOwing,
    agents,
  })
  checkUnlogged(examiner, columns)
  return columns
}

/** Values that no log can restore must at least be readable. */
function checkUnlogged(examiner: ConversationExaminer, { title, fsmState }: Rebuilt['columns']): void {
  const { conversation } = examiner
  if (title === undefined) examiner.mustBeReadable('title', conversation.title)
  if (fsmState === undefined) examiner.mustBeReadable('cached state', conversation.fsmState)
}

/**
 * Compares a conversation with its parent and its child agents. True when it still has to act for one of them: start a child, report its result to the parent,
 * or end because its call has ended.
 */
async function owesFamily(
  reader: UpkeepReader,
  examiner: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  return (await owesParent(reader, examiner, state)) || (await owesChild(reader, examiner, state))
}

async function owesParent(
  reader: UpkeepReader,
  examiner: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  const { tenant, parent, conversation } = examiner
  const turn = parent?.callId === undefined ? null : findTurn(state, childTurnIdOf(parent.callId))
  if (!parent?.callId || !turn || conversation.agent === null) return false
  const call = await reader.call(tenant, parent.callId)
  if (call?.conversationId !== parent.id) return false
  const isPending = call.status === 'pending'
  if (!turn.end) return !isPending && !turn.cancel
  if (isPending) return true
  const hasResult = call.status === 'resolved' || call.status === 'errored'
  // A call that ended in another way cancels the child, which then has nothing to report.
  if (hasResult && turn.end.status !== 'cancelled' && isWhole(turn)) {
    const recorded = call.result === null ? null : decoded(call.result)
    const result = childResult(conversation.agent, turn, turn.end)
    if (!isDeepStrictEqual(recorded, result) && !isUnrecordable(recorded)) {
      examiner.add(
        'parent_disagrees',
        `its turn '${turn.turnId}' ${turn.end.status}, and call '${parent.callId}' of '${parent.id}' has another result`,
      )
    }
  }
  return false
}

/** A result too large for the parent's log is recorded as an error. */
function isUnrecordable(recorded: unknown): boolean {
  return (
    typeof recorded === 'object' &&
    recorded !== null &&
    'error' in recorded &&
    String(recorded.error).startsWith(unrecordable)
  )
}

/** A child agent that its parent waits for and that was never started. */
async function owesChild(
  reader: UpkeepReader,
  { tenant }: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  for (const { callId } of childCalls(state)) {
    const child = await reader.conversation(tenant, childIdOf(callId))
    if (!child || child.lastSeq === 0) return true
  }
  return false
}
