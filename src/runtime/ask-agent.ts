import { NoSuchAgentError } from '../errors/flow-errors.ts'
import type { FlowContext } from '../flow/flow-owner.ts'
import { systemScope } from '../scope/create-scope.ts'
import type { Scope } from '../scope/register.ts'
import type { ConversationRef } from '../store/conversation-record.ts'
import { conversationHandle } from './conversation-handle.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { outcomeOf } from './turn-outcome.ts'

/** How a flow talks to an agent: the key makes it one message, however often it is asked, and the log tells when the turn has ended. */
export function askAgent(context: () => RuntimeContext): (ref: ConversationRef) => FlowContext['askAgent'] {
  return ({ tenant, id }) =>
    async (op, key) => {
      const runtime = context()
      if (!runtime.agents.has(op.agent)) throw new NoSuchAgentError(op.agent, [...runtime.agents.keys()])
      const identity = { tenant, who: `flow:${id}`, scope: systemScope(tenant) as Scope }
      const conversation = conversationHandle(runtime, identity, op.id, op.agent)
      const { turnId } = await conversation.send(String(op.message), { key, whenBusy: 'queue' })
      const { state } = await runtime.workingSets.load(runtime.store.forTenant(tenant), tenant, op.id)
      const outcome = outcomeOf(op.id, state, turnId)
      if (!outcome || outcome.status === 'waiting' || outcome.status === 'detached') return null
      const object = outcome.status === 'completed' ? ((outcome.object as never) ?? null) : null
      return { status: outcome.status, text: outcome.text, object, reason: outcome.reason }
    }
}
