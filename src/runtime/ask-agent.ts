import { AwaitedConversationDeletedError, NoSuchAgentError } from '../base/errors/flow-errors.ts'
import type { AgentAnswer } from '../define/flow-verbs.ts'
import { restoredScope, type Scope } from '../define/scope.ts'
import type { AskAgent } from '../engine/flow/running-ops.ts'
import { isToldBy, outcomeOf } from '../engine/live/turn-outcome.ts'
import { traceAt } from '../engine/observer.ts'
import { forkerOf } from '../engine/scopes.ts'
import { findTurn } from '../log/state.ts'
import type { ConversationRef } from '../store/records.ts'
import { conversationHandle } from './conversation-handle.ts'
import { turnFromLog } from './read/turn-events.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { turnIdOf } from './send-message.ts'

/** How a flow talks to an agent: the key makes it one message, however often it is asked, and the log tells when the turn has ended. */
export function askAgent(runtime: RuntimeContext): (session: ConversationRef) => AskAgent {
  const { addressable, scopes, snapshots } = runtime.node
  return (session) => async (op, key, starter, wasSent) => {
    const { tenant } = session
    const who = (await forkerOf(runtime.node.store.forTenant(tenant), session.id))?.who ?? starter
    if (!addressable.has(op.agent)) throw new NoSuchAgentError(op.agent, [...addressable.keys()])
    const ref = { tenant, id: op.id ?? key }
    // Only `loadState` sees it: what the message starts has its scope rebuilt when it runs.
    const scope = snapshots ? await scopes.ofSession(tenant, session.id, who) : (restoredScope(tenant, who) as Scope)
    const conversation = conversationHandle(runtime, { tenant, who, scope }, ref.id, op.agent)
    const turnId = turnIdOf(`flow/${key}`)
    // A message that is known to have been sent is not sent again: if its conversation is gone, it was deleted.
    const data = op.data === undefined ? {} : { data: op.data }
    const { observer, store } = runtime.node
    const trace = observer && !wasSent ? await traceAt(store.forTenant(tenant), session.id, 1) : {}
    if (!wasSent) await conversation.send(op.message, { key: `flow/${key}`, whenBusy: 'queue', ...data, ...trace })
    const look = (): Promise<AgentAnswer | null> => answerOf(runtime, ref, turnId)
    const answer = await look()
    if (!answer) runtime.turnWaiters.wait(ref, session, () => hasEnded(look))
    return answer
  }
}

/** A turn whose conversation was deleted has ended, too. */
async function hasEnded(look: () => Promise<AgentAnswer | null>): Promise<boolean> {
  try {
    return (await look()) !== null
  } catch (error) {
    if (error instanceof AwaitedConversationDeletedError) return true
    throw error
  }
}

/** Null while the turn has not ended, also while it waits for an answer. Rejects when it is not there. */
async function answerOf(
  { node }: RuntimeContext,
  { tenant, id }: ConversationRef,
  turnId: string,
): Promise<AgentAnswer | null> {
  const store = node.store.forTenant(tenant)
  const { state } = await node.workingSets.load(store, tenant, id)
  // A turn that ended long ago may have been put away under a summary.
  const known = isToldBy(state, turnId) ? state : await turnFromLog(store, id, turnId)
  if (!findTurn(known, turnId)) throw new AwaitedConversationDeletedError(id)
  const outcome = outcomeOf(id, known, turnId)
  if (!outcome || outcome.status === 'waiting' || outcome.status === 'detached') return null
  const object = outcome.status === 'completed' ? ((outcome.object as never) ?? null) : null
  const { status, text, finishReason, reason } = outcome
  return { status, text, finishReason, object, reason }
}
