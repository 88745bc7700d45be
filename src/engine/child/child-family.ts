import { errorCodes } from '../../base/errors/codes.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import { errorText } from '../../base/redact/error-text.ts'
import type { Redact } from '../../base/redact/redactor.ts'
import type { Agent } from '../../define/agent.ts'
import { childIdOf, childTurnIdOf } from '../../log/child-call.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Store } from '../../store/store.ts'
import type { LeaseWish } from '../lease-request.ts'
import type { Scopes } from '../scopes.ts'
import { unrecordable } from './child-result.ts'
import type { Family, ParentCall } from './family.ts'
import { resolveChildCall } from './resolve-child-call.ts'
import { startChild } from './start-child.ts'

export type FamilyParts = {
  readonly store: Store
  readonly agents: ReadonlyMap<string, Agent>
  readonly scopes: Scopes
  readonly leaseMs: number
  readonly redact: Redact
  giving<T>(ref: ConversationRef, agent: string | null, commit: (lease: LeaseWish) => Promise<T>): Promise<T>
  makeRoom(): () => void
}

/** How the owner of a conversation reaches its child agents, and whoever called it. */
export function childFamily(
  parts: FamilyParts,
  { tenant, id }: ConversationRef,
  agent: Agent,
  parent: ParentCall | null,
): Family {
  const { agents } = parts
  const store = parts.store.forTenant(tenant)
  const who = `agent:${agent.name}`
  const refuse = (callId: string, error: string): Promise<void> =>
    resolveChildCall(parts, tenant, { conversationId: id, callId }, { ok: false, error }, who)

  return {
    parent,
    // By then whoever works on a child has asked for the lease again, or has lost it.
    patienceMs: parts.leaseMs,
    makeRoom: () => parts.makeRoom(),

    async start(call, turn) {
      const tool = agent.toolSet.get(call.name)
      const child = tool?.executor === 'agent' ? agents.get(tool.agent.name) : undefined
      if (!child) {
        const problem = tool ? 'does not start an agent any more' : 'is no longer there'
        return refuse(call.callId, `The tool '${call.name}' ${problem}. No agent was started.`)
      }
      try {
        await startChild(parts, { tenant, id }, { call, turn, child })
      } catch (error) {
        if (!isRefusal(error)) throw error
        await refuse(call.callId, `the agent '${child.name}' could not be started: ${parts.redact(errorText(error))}`)
      }
    },

    async cancel(callId, canceller) {
      const childId = childIdOf(callId)
      const name = (await store.getConversation(childId))?.agent ?? null
      if (name === null) return false
      failpoint('child.before_cancel')
      const content = { turnId: childTurnIdOf(callId), who: canceller }
      const change = { events: [{ type: 'cancel_requested' as const, content }], key: `cancel/${callId}` }
      const known = agents.has(name) ? name : null
      await parts.giving({ tenant, id: childId }, known, () => unlessGone(store.commit(childId, change)))
      // Durable from here: whoever works on the child ends it, and tells here.
      failpoint('child.after_cancel')
      return true
    },

    async resolveParent(value) {
      if (!parent) return
      failpoint('child.before_resolve_parent')
      try {
        await resolveChildCall(parts, tenant, parent, value, who)
      } catch (error) {
        if (!isRefusal(error)) throw error
        const told = { ok: false, error: `${unrecordable}: ${parts.redact(errorText(error))}` }
        await resolveChildCall(parts, tenant, parent, told, who)
      }
      // Durable from here: the parent goes on, and this conversation may park.
      failpoint('child.after_resolve_parent')
    },
  }
}

/** The store will never take it. */
function isRefusal(error: unknown): boolean {
  if (!PerdureError.isInstance(error) || error.code === 'runtime_closed') return false
  return errorCodes[error.code].family === 'usage' || error.code === 'conversation_exists'
}

async function unlessGone(commit: Promise<unknown>): Promise<void> {
  try {
    await commit
  } catch (error) {
    if (!PerdureError.isInstance(error) || error.code !== 'conversation_not_found') throw error
  }
}
