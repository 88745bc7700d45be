import { readOptions } from '../base/errors/read-options.ts'
import type { Agent } from '../define/agent.ts'
import { type Flow, sessionAgent } from '../define/define-flow.ts'
import { isSystemScope, type Scope } from '../define/scope.ts'
import { flowNamed } from '../engine/flow/flow-registry.ts'
import { type Identity, type IdentityOptions, identify } from '../engine/scopes.ts'
import { seqOfFlowCall } from '../log/flow-questions.ts'
import { checkId } from '../store/checks.ts'
import type { ConversationRecord } from '../store/records.ts'
import { callInLog, readCallRef, roundOf } from './answer-call.ts'
import { askedCall } from './authorize/asked-call.ts'
import { authorizedVerbs } from './authorize/authorized-verbs.ts'
import { Gate } from './authorize/gate.ts'
import { conversationHandle } from './conversation-handle.ts'
import { answerQuestion, flowSession } from './flow-session.ts'
import type { Permit } from './permit.ts'
import { inspect } from './read/inspect.ts'
import { inbox, listedConversation, listedSession, readListFilter, readSessionFilter } from './read/lists.ts'
import { withPauses } from './read/paused-rows.ts'
import { tenantChanges } from './read/tenant-changes.ts'
import { totalsOf } from './read/totals.ts'
import { resolveAny } from './resolve-call.ts'
import type { Verbs } from './runtime.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** The verbs of a runtime, for the identity that the scope names. `authorize` is asked before each, except for the system. */
export function verbs<Agents extends readonly Agent[]>(
  runtime: RuntimeContext,
  options: IdentityOptions,
  scope: Scope,
): Verbs<Agents> {
  // Only when a verb is called: a runtime whose scopes name the tenant can be created without one.
  const identity = () => identify(scope, options)
  const { authorization, node } = runtime
  if (!authorization || isSystemScope(scope)) return verbsOf<Agents>(runtime, identity)
  const { authorize, emptyTenant, cursors } = authorization
  const nowhere = withoutSnapshots(runtime)
  const elsewhere = () => ({ ...identity(), tenant: emptyTenant })
  const { clock, logger } = node
  const storeOf = () => node.store.forTenant(identity().tenant)
  const gate = new Gate({
    authorize,
    identity,
    store: storeOf,
    clock,
    logger,
    callOf: (id, about) => askedCall({ ...node, id, tenant: identity().tenant, store: storeOf() }, about),
  })
  const permit: Permit = {
    mayRestore: (action, record) => gate.judgeRecord(action, record),
    mayApprove: (id, call) => gate.allowsEdited(id, call),
  }
  return authorizedVerbs({
    open: verbsOf(runtime, identity),
    absent: verbsOf(nowhere, elsewhere),
    conversationOf: (id, agent, isNew) => ({
      open: conversationHandle(runtime, identity(), id, agent, { ...permit, isNew }),
      absent: conversationHandle(nowhere, elsewhere(), id, agent),
    }),
    gate,
    cursors,
  }) as unknown as Verbs<Agents>
}

/** Where nothing is, nothing may be restored either. */
function withoutSnapshots(runtime: RuntimeContext): RuntimeContext {
  const { node } = runtime
  return node.snapshots ? { ...runtime, node: { ...node, snapshots: node.snapshots.empty } } : runtime
}

function verbsOf<Agents extends readonly Agent[]>(runtime: RuntimeContext, identity: () => Identity): Verbs<Agents> {
  const { node, worker } = runtime
  const storeOf = () => node.store.forTenant(identity().tenant)
  const conversation = (id: string, given?: { readonly agent?: string }) => {
    checkId('conversation id', id)
    const { agent = null } = readOptions('options', given, ['agent'])
    if (agent !== null) checkId('agent', agent)
    return conversationHandle(runtime, identity(), id, agent)
  }
  return {
    agents: [...node.addressable.keys()],
    conversation: conversation as Verbs<Agents>['conversation'],
    flow: ((flow: string | Flow, id: string) => {
      checkId('session id', id)
      const named = flowNamed(flow)
      checkId('flow', sessionAgent(named.name))
      return flowSession(runtime, identity(), named, id)
    }) as Verbs<Agents>['flow'],
    async resolve(conversationId, call, value, given) {
      checkId('conversation id', conversationId)
      const ref = readCallRef(call)
      const answering = readOptions('options', given, ['key', 'digest'])
      const { tenant } = identity()
      const store = node.store.forTenant(tenant)
      const seq = seqOfFlowCall(conversationId, ref.callId)
      if (seq !== null)
        return answerQuestion(runtime, identity(), { id: conversationId, callId: ref.callId, seq }, value, answering)
      const found = await callInLog({ ...node, id: conversationId, tenant, store }, ref)
      // The state no longer has a turn that was summarised away; the row still says what its call waited for.
      const kind = (found && roundOf(found, ref)?.kind) ?? (await store.getToolCall(ref.callId))?.kind ?? null
      return resolveAny(conversation(conversationId), kind, ref, value, answering)
    },
    inspect(id) {
      checkId('conversation id', id)
      const { turnLimits, store } = node
      const limits = turnLimits && store.accounts ? { turnLimits, accounts: store.accounts } : null
      return inspect(
        storeOf(),
        { tenant: identity().tenant, id },
        { nodes: node.store.nodes, pauses: node.pauses, limits },
      )
    },
    async conversations(filter) {
      const { tenant } = identity()
      const records = await node.store.forTenant(tenant).listConversations(readListFilter(filter))
      const listed = records.map((record) =>
        listedConversation(record, worker?.problemOf({ tenant, id: record.id }, record.lastSeq) ?? null),
      )
      return withPauses(node.pauses, listed, ({ id, agent }) => ({ tenant, id, agent }))
    },
    async sessions(filter) {
      const { tenant } = identity()
      const records = await node.store.forTenant(tenant).listConversations(readSessionFilter(filter))
      const listed = records.map((record) =>
        listedSession(record, worker?.problemOf({ tenant, id: record.id }, record.lastSeq) ?? null),
      )
      return withPauses(node.pauses, listed, ({ id, flow }) => ({ tenant, id, agent: sessionAgent(flow) }))
    },
    totals: async (filter) => totalsOf(storeOf(), filter),
    changes: () => {
      const { tenant } = identity()
      const problemOf = ({ id, lastSeq }: ConversationRecord) => worker?.problemOf({ tenant, id }, lastSeq) ?? null
      const changes = tenantChanges(node, tenant, problemOf)
      return { changes, seesAll: async () => true, allows: async () => true, reads: async () => true }
    },
    flows: async () => node.flows.list(),
    unquarantine: async (id) => {
      runtime.assertOpen()
      return storeOf().unquarantine(id)
    },
    inbox: async (page) => inbox(storeOf(), identity().tenant, node, page),
  }
}
