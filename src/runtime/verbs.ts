import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { readOptions } from '../base/errors/read-options.ts'
import type { Agent } from '../define/agent.ts'
import { type Flow, sessionAgent } from '../define/define-flow.ts'
import type { Scope } from '../define/scope.ts'
import { flowNamed } from '../engine/flow/flow-registry.ts'
import { type IdentityOptions, identify } from '../engine/scopes.ts'
import { seqOfFlowCall } from '../log/flow-questions.ts'
import { type ConversationState, findCall } from '../log/state.ts'
import { checkId } from '../store/checks.ts'
import type { CallKind } from '../store/records.ts'
import { type Answered, type AnswerOptions, childOfCall, type ReadCallRef, readCallRef } from './answer-call.ts'
import type { Conversation } from './conversation.ts'
import { conversationHandle } from './conversation-handle.ts'
import { answerQuestion, flowSession } from './flow-session.ts'
import { inspect } from './read/inspect.ts'
import { inbox, listedConversation, listedSession, readSessionFilter } from './read/lists.ts'
import type { Verbs } from './runtime.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** The verbs of a runtime, for the identity that the scope names. */
export function verbs<Agents extends readonly Agent[]>(
  runtime: RuntimeContext,
  options: IdentityOptions,
  scope: Scope,
): Verbs<Agents> {
  const { node, worker } = runtime
  // Only when a verb is called: a runtime whose scopes name the tenant can be created without one.
  const identity = () => identify(scope, options)
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
      const answering = readOptions('options', given, ['key'])
      const { tenant } = identity()
      const store = node.store.forTenant(tenant)
      const seq = seqOfFlowCall(conversationId, ref.callId)
      if (seq !== null)
        return answerQuestion(runtime, identity(), { id: conversationId, callId: ref.callId, seq }, value, answering)
      const id = (await childOfCall(store, conversationId, ref)) ?? conversationId
      const { state } = await node.workingSets.load(store, tenant, id)
      // A turn that was summarised away is no longer in the state; the row still tells what its call waited for.
      const kind = kindOf(state, ref) ?? (await store.getToolCall(ref.callId))?.kind
      return resolveAny(conversation(id), kind, ref, value, answering)
    },
    inspect(id) {
      checkId('conversation id', id)
      return inspect(storeOf(), { tenant: identity().tenant, id })
    },
    async conversations(filter) {
      const { tenant } = identity()
      const records = await node.store.forTenant(tenant).listConversations(filter)
      return records.map((record) =>
        listedConversation(record, worker?.problemOf({ tenant, id: record.id }, record.lastSeq) ?? null),
      )
    },
    async sessions(filter) {
      const { tenant } = identity()
      const records = await node.store.forTenant(tenant).listConversations(readSessionFilter(filter))
      return records.map((record) =>
        listedSession(listedConversation(record, worker?.problemOf({ tenant, id: record.id }, record.lastSeq) ?? null)),
      )
    },
    flows: async () => node.flows.list(),
    unquarantine: async (id) => {
      runtime.assertOpen()
      return storeOf().unquarantine(id)
    },
    inbox: async (page) => inbox(storeOf(), node, page),
  }
}

/** True and false answer an approval; for everything else the value is the answer. */
async function resolveAny(
  handle: Conversation,
  kind: CallKind | undefined,
  { callId, round }: ReadCallRef,
  value: unknown,
  answering: AnswerOptions,
): Promise<Answered> {
  const ref = { callId, round }
  if (kind !== 'approval') return handle.answer(ref, value, answering)
  const { approved, args, reason } = readDecision(value)
  if (approved) return handle.approve(ref, { ...answering, ...(args === undefined ? {} : { args }) })
  return handle.deny(ref, { ...answering, ...(reason === undefined ? {} : { reason }) })
}

/** What a round of a call waits for, as far as the state goes. */
function kindOf(state: ConversationState, { callId, round }: ReadCallRef): CallKind | undefined {
  return findCall(state, callId)?.call.rounds.find((candidate) => candidate.round === round)?.kind
}

type Decision = { readonly approved: boolean; readonly args?: unknown; readonly reason?: string }

function readDecision(value: unknown): Decision {
  const given = typeof value === 'object' && value !== null ? value : { approved: value }
  const { approved, args, reason } = readOptions('decision', given as Decision, ['approved', 'args', 'reason'])
  // What is neither yes nor no decides nothing: a decision cannot be taken back.
  if (typeof approved !== 'boolean')
    throw new InvalidAnswerError('decision', 'it must be true, false or { approved, args?, reason? }')
  return { approved, ...(args === undefined ? {} : { args }), ...(typeof reason === 'string' ? { reason } : {}) }
}
