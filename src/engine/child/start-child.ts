import { ConversationExistsError } from '../../base/errors/store-errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Agent } from '../../define/agent.ts'
import { effectiveArgs } from '../../log/call-phase.ts'
import { childBudget } from '../../log/child-budget.ts'
import { childIdOf, childTurnIdOf } from '../../log/child-call.ts'
import type { TurnOptions } from '../../log/events.ts'
import type { CallState, TurnState } from '../../log/state.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'
import type { TenantStore } from '../../store/store.ts'
import { turnOptions } from '../turn-options.ts'
import type { FamilyParts } from './child-family.ts'
import { childMessage } from './child-message.ts'

type Start = { readonly call: CallState; readonly turn: TurnState; readonly child: Agent }

/** Sends the arguments of a call to the child agent, in a conversation whose id and key follow from the call: once, however often it is tried. */
export async function startChild(
  { store: root, scopes, giving }: FamilyParts,
  { tenant, id }: ConversationRef,
  { call, turn, child }: Start,
): Promise<void> {
  const store = root.forTenant(tenant)
  const { callId } = call
  const childId = childIdOf(callId)
  if (await isStarted(store, childId, callId)) return
  const turnId = childTurnIdOf(callId)
  const key = `child/${callId}`
  const who = scopes.handOn({ tenant, id }, turn, callId, { id: childId, turnId })
  const message = childMessage(effectiveArgs(call))
  failpoint('child.before_send')
  await giving({ tenant, id: childId }, child.name, async (lease) => {
    const content = { turnId, message, options: childOptions(child, turn), who, key }
    const conversation = { agent: child.name, parent: { id, callId } }
    const events = [{ type: 'user_msg' as const, content }]
    const result = await store.commit(childId, { events, key, conversation, expectedSeq: 0, ...lease.acquire() })
    if (!result.ok) throw new ConversationExistsError(childId)
    lease.got(result)
  })
  // Durable from here: the child works, and ends the call when it ends.
  failpoint('child.after_send')
  // A conversation that is deleted takes its children along, also one that was just being started.
  if (!(await store.getConversation(id))) await store.deleteConversation(childId)
}

/** Throws where another conversation has its id: what it says is not what the child says. */
async function isStarted(store: TenantStore, childId: string, callId: string): Promise<boolean> {
  const record = await store.getConversation(childId)
  if (!record?.lastSeq) return false
  if (record.parent?.callId !== callId) throw new ConversationExistsError(childId)
  return true
}

/** The child's own limits, within what is left to the turn that starts it. */
function childOptions(child: Agent, turn: TurnState): TurnOptions {
  const left = childBudget(turn)
  const maxTokens = Math.min(child.maxTokens ?? Number.POSITIVE_INFINITY, left.maxTokens)
  return {
    ...turnOptions(child, {}),
    maxDepth: Math.min(child.maxDepth, left.maxDepth),
    maxSteps: Math.min(child.maxSteps, left.maxSteps),
    ...(Number.isFinite(maxTokens) ? { maxTokens } : {}),
  }
}
