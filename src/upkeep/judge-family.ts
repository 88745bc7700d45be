import { isDeepStrictEqual } from 'node:util'
import { childResult, unrecordable } from '../engine/child/child-result.ts'
import { childCalls, childIdOf, childTurnIdOf } from '../log/child-call.ts'
import { type ConversationState, findTurn } from '../log/state.ts'
import { decoded } from '../store/conversation-row.ts'
import type { UpkeepReader } from '../store/upkeep-reader.ts'
import type { ConversationExaminer } from './examine-conversation.ts'
import { isWhole } from './log-fold.ts'

/**
 * Compares a conversation with its parent and its child agents. True when it has to act for one of them: start a child, tell the parent how
 * it ended, or end because its call has.
 */
export async function owesFamily(
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
