import { errorCodes } from '../../base/errors/codes.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { ConversationExistsError } from '../../base/errors/store-errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Json } from '../../base/json.ts'
import { errorText } from '../../base/redact/redactor.ts'
import type { Agent } from '../../define/agent.ts'
import type { ScopeSource } from '../../define/scope.ts'
import { effectiveArgs } from '../../log/call-phase.ts'
import { childBudget, childIdOf, childTurnIdOf } from '../../log/child-call.ts'
import type { Resolution, TurnOptions } from '../../log/events.ts'
import type { CallState, TurnState } from '../../log/state.ts'
import { resolveRow } from '../../store/change.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import { noLease, type WorkStarter } from '../lease-request.ts'
import type { EngineNode } from '../node.ts'
import { traceAt } from '../observer.ts'
import { turnOptions } from '../turn-options.ts'
import { cancelOf, childMessage, unrecordable } from './child-calls.ts'

type FamilyNode = Pick<EngineNode, 'store' | 'agents' | 'leaseMs' | 'redact' | 'observer'>

/** How the owner of a conversation reaches its child agents, and the conversation that called it. */
export function childFamily(
  node: FamilyNode,
  worker: WorkStarter,
  { tenant, id }: ConversationRef,
  agent: Agent,
  parent: ParentCall | null,
  scopes: Pick<ScopeSource, 'whoOfCall'>,
): Family {
  const { agents, redact } = node
  const store = node.store.forTenant(tenant)
  const who = `agent:${agent.name}`
  const refuse = (callId: string, error: string): Promise<void> =>
    resolveChildCall({ node, worker }, tenant, { conversationId: id, callId }, { ok: false, error }, who)

  return {
    parent,
    // By then the owner of a child has renewed its lease, or has lost it.
    patienceMs: node.leaseMs,
    allowOneMore: () => worker.allowOneMore(),

    async start(call, turn) {
      const tool = agent.toolSet.get(call.name)
      const child = tool?.executor === 'agent' ? agents.get(tool.agent.name) : undefined
      if (!child) {
        const problem = tool ? 'does not start an agent any more' : 'is no longer there'
        return refuse(call.callId, `The tool '${call.name}' ${problem}. No agent was started.`)
      }
      try {
        const actor = scopes.whoOfCall(turn, call.callId)
        await startChild(node, worker, { tenant, id }, { call, turn, child, who: actor })
      } catch (error) {
        if (!isRefusal(error)) throw error
        await refuse(call.callId, `the agent '${child.name}' could not be started: ${redact(errorText(error))}`)
      }
    },

    async cancel(callId, canceller) {
      const childId = childIdOf(callId)
      const name = (await store.getConversation(childId))?.agent ?? null
      if (name === null) return false
      failpoint('child.before_cancel')
      const known = agents.has(name) ? name : null
      const request = worker.requestLease({ tenant, id: childId }, known)
      await request.during(() => unlessGone(store.commit(childId, cancelOf(callId, canceller))))
      // Durable from here: the owner of the child ends it, and resolves the call here.
      worker.start(request, null)
      failpoint('child.after_cancel')
      return true
    },

    async resolveParent(value) {
      if (!parent) return
      failpoint('child.before_resolve_parent')
      try {
        await resolveChildCall({ node, worker }, tenant, parent, value, who)
      } catch (error) {
        if (!isRefusal(error)) throw error
        const told = { ok: false, error: `${unrecordable}: ${redact(errorText(error))}` }
        await resolveChildCall({ node, worker }, tenant, parent, told, who)
      }
      // Durable from here: the parent continues, and this conversation may park.
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

/** `who`: for whom the call acts, and so the child. */
type Start = { readonly call: CallState; readonly turn: TurnState; readonly child: Agent; readonly who: string }

/** Sends the arguments of a call to the child agent, in a conversation whose id and key follow from the call: once, however often it is tried. */
async function startChild(
  node: FamilyNode,
  worker: WorkStarter,
  { tenant, id }: ConversationRef,
  { call, turn, child, who }: Start,
): Promise<void> {
  const store = node.store.forTenant(tenant)
  const { callId } = call
  const childId = childIdOf(callId)
  if (await isStarted(store, childId, callId)) return
  const turnId = childTurnIdOf(callId)
  const key = `child/${callId}`
  const message = childMessage(effectiveArgs(call))
  failpoint('child.before_send')
  const trace = node.observer ? await traceAt(store, id, turn.firstSeq) : {}
  const content = { turnId, message, options: childOptions(child, turn), who, key, ...trace }
  const conversation = { agent: child.name, parent: { id, callId } }
  const events = [{ type: 'user_msg' as const, content }]
  const request = worker.requestLease({ tenant, id: childId }, child.name)
  const lease = await request.during(async () => {
    const result = await store.commit(childId, { events, key, conversation, expectedSeq: 0, ...request.acquire() })
    if (!result.ok) throw new ConversationExistsError(childId)
    return request.granted(result)
  })
  // Durable from here: the child works, and ends the call when it ends.
  worker.start(request, lease)
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

/** The child's own limits, within the remaining steps and tokens of the turn that starts it. */
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

/** Ends a call that a child agent works on, and wakes the calling conversation. Does nothing if the call has ended or is gone. */
export async function resolveChildCall(
  { node, worker }: { readonly node: Pick<EngineNode, 'store' | 'agents'>; readonly worker: WorkStarter | null },
  tenant: string,
  { conversationId, callId }: ParentCall,
  value: Json,
  who: string,
): Promise<void> {
  const store = node.store.forTenant(tenant)
  const row = await store.getToolCall(callId)
  if (row?.status !== 'pending' || row.kind !== 'sub_agent') return
  const agent = (await store.getConversation(conversationId))?.agent ?? null
  const known = agent !== null && node.agents.has(agent) ? agent : null
  const content: Resolution = { callId, round: row.round, kind: row.kind, status: 'resolved', value, who }
  try {
    const events = [{ type: 'resolution' as const, content }]
    const ref = { tenant, id: conversationId }
    const request = worker?.requestLease(ref, known) ?? noLease(ref)
    // Of several resolutions, a cancel among them, one is accepted.
    const result = await request.during(() =>
      store.commit(conversationId, { events, resolve: [resolveRow(content)], ...request.acquire() }),
    )
    // Durable from here: the calling conversation continues.
    worker?.start(request, request.granted(result))
  } catch (error) {
    if (!PerdureError.isInstance(error) || error.code !== 'conversation_not_found') throw error
  }
}

/** The call of another conversation that a conversation was started for. */
export type ParentCall = { readonly conversationId: string; readonly callId: string }

/** What an owner does to other conversations: to those of its child agents, and to the one that waits for it. Each can be repeated. */
export type Family = {
  /** Null for a conversation that callers talk to. */
  readonly parent: ParentCall | null
  /** How long a cancel waits for the children to end. */
  readonly patienceMs: number
  /** Starts the child agent of a call. One that cannot be started ends its call. */
  start(call: CallState, turn: TurnState): Promise<void>
  /** Asks the child of a call to end. False when there is none, and then the call stays open. */
  cancel(callId: string, who: string): Promise<boolean>
  /** Ends the call that waits for this conversation, unless it has ended. `result` must follow from the committed log. */
  resolveParent(result: Json): Promise<void>
  /** While an owner only waits for its children, it takes no place from them. The returned function ends this. */
  allowOneMore(): () => void
}
