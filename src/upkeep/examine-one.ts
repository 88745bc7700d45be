import { isDeepStrictEqual } from 'node:util'
import { childResult, unrecordable } from '../engine/child/child-calls.ts'
import { childCalls, childIdOf, childTurnIdOf } from '../log/child-call.ts'
import { type ConversationState, findTurn } from '../log/state.ts'
import { decoded } from '../store/rows.ts'
import type { Rebuilt, UpkeepReader } from '../store/upkeep.ts'
import type { ConversationExaminer } from './examine-conversation.ts'
import { judgeColumns } from './judge-columns.ts'
import { isWhole } from './log-fold.ts'

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

/**
 * Compares a conversation with its parent and its child agents. True when it has to act for one of them: start a child, tell the parent how
 * it ended, or end because its call has.
 */
async function owesFamily(
  reader: UpkeepReader,
  examined: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  return (await owesParent(reader, examined, state)) || (await owesChild(reader, examined, state))
}

async function owesParent(
  reader: UpkeepReader,
  examined: ConversationExaminer,
  state: ConversationState,
): Promise<boolean> {
  const { tenant, parent, conversation } = examined
  const turn = parent?.callId === undefined ? null : findTurn(state, childTurnIdOf(parent.callId))
  if (!parent?.callId || !turn || conversation.agent === null) return false
  const call = await reader.call(tenant, parent.callId)
  if (call?.conversationId !== parent.id) return false
  const isPending = call.status === 'pending'
  if (!turn.end) return !isPending && !turn.cancel
  if (isPending) return true
  const isTold = call.status === 'resolved' || call.status === 'errored'
  // A call that ended in some other way cancels the child, which has then nothing to tell.
  if (isTold && turn.end.status !== 'cancelled' && isWhole(turn)) {
    const told = call.result === null ? null : decoded(call.result)
    const result = childResult(conversation.agent, turn, turn.end)
    if (!isDeepStrictEqual(told, result) && !isUnrecordable(told)) {
      examined.add(
        'parent_disagrees',
        `its turn '${turn.turnId}' ${turn.end.status}, and call '${parent.callId}' of '${parent.id}' was told something else`,
      )
    }
  }
  return false
}

/** A result that is too large for the parent's log is told as an error. */
function isUnrecordable(told: unknown): boolean {
  return typeof told === 'object' && told !== null && 'error' in told && String(told.error).startsWith(unrecordable)
}

/** A child agent that is waited for and was never started. */
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
