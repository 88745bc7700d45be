import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Tool } from '../define/tool.ts'
import { checkAnswer, checkEditedArgs } from '../define/validate.ts'
import type { LeaseRequest } from '../engine/lease-request.ts'
import type { Identity } from '../engine/scopes.ts'
import type { CallState, ConversationState, Round } from '../log/state.ts'
import type { TenantStore } from '../store/store.ts'
import {
  type Answer,
  type Answered,
  type AnswerKey,
  type AnswerOptions,
  answerCall,
  answerKey,
  type CallRef,
  checkDigest,
  childOfCall,
  expectKind,
  type ReadCallRef,
  readCallRef,
  redactFailure,
} from './answer-call.ts'
import { asAsked } from './authorize/asked-call.ts'
import type { Conversation } from './conversation.ts'
import { type MayApprove, Refused } from './permit.ts'
import type { RuntimeContext } from './runtime-context.ts'

type Parts = {
  readonly id: string
  readonly identity: Identity
  readonly store: TenantStore
  readonly state: () => Promise<ConversationState>
  readonly requestLease: () => Promise<LeaseRequest>
  readonly toolOf: (name: string) => Promise<Tool | null>
  readonly childHandle: (id: string) => Conversation
  readonly mayApprove: MayApprove | null
}

/** The verbs that answer a call which waits. */
export function answerVerbs(runtime: RuntimeContext, parts: Parts): Pick<Conversation, 'approve' | 'deny' | 'answer'> {
  const { id, identity, store, state, requestLease, toolOf, childHandle, mayApprove } = parts
  const { node, worker } = runtime
  const { who } = identity

  /** An answer to a child agent goes straight to it: `inChild` gives it there. */
  async function answering(
    call: CallRef,
    inChild: (child: Conversation, ref: ReadCallRef) => Promise<Answered>,
    requestFor: (ref: ReadCallRef) => AnswerKey,
    digest: string | undefined,
    answerFor: (call: CallState, round: Round) => Promise<Answer>,
  ): Promise<Answered> {
    runtime.assertOpen()
    const callRef = readCallRef(call)
    checkDigest(digest)
    const request = requestFor(callRef)
    const childId = await childOfCall(store, id, callRef)
    if (childId !== null) return inChild(childHandle(childId), callRef)
    const leaseRequest = await requestLease()
    const { answered, lease } = await leaseRequest.during(() =>
      answerCall(callRef, answerFor, { id, who, store, state, leaseRequest, request, digest }),
    )
    // Durable from here: the call is answered, by this answer or an earlier one.
    worker?.start(leaseRequest, lease)
    return answered
  }

  return {
    async approve(call, options) {
      const given = readOptions<{ readonly args?: unknown } & AnswerOptions, 'args' | 'key' | 'digest'>(
        ...(['options', options, ['args', 'key', 'digest']] as const),
      )
      const { args, key, digest } = given
      return answering(
        call,
        (child, ref) => child.approve(ref, given),
        (ref) => answerKey(key, ref, 'approve', args),
        digest,
        async (pending, round) => {
          expectKind(pending, round, ['approval'])
          if (args === undefined) return { status: 'resolved', value: true }
          const after = await checkEditedArgs(await toolOf(pending.name), args)
          if (mayApprove && !(await mayApprove(id, asAsked(pending, round, after)))) throw new Refused()
          return { status: 'resolved', value: true, edited: { before: pending.args, after } }
        },
      )
    },

    async deny(call, options) {
      const given = readOptions('options', options, ['reason', 'key', 'digest'])
      const { reason = null, key, digest } = given
      if (reason !== null && typeof reason !== 'string') throw new InvalidArgumentError('reason', 'must be a string')
      return answering(
        call,
        (child, ref) => child.deny(ref, given),
        (ref) => answerKey(key, ref, 'deny', reason),
        digest,
        async (pending, round) => {
          expectKind(pending, round, ['approval'])
          return { status: 'denied', value: { reason } }
        },
      )
    },

    async answer(call, value, options) {
      const given = readOptions('options', options, ['key', 'digest'])
      const { key, digest } = given
      return answering(
        call,
        (child, ref) => child.answer(ref, value, given),
        (ref) => answerKey(key, ref, 'answer', value),
        digest,
        async (pending, round) => {
          expectKind(pending, round, ['elicitation', 'client_exec', 'recovery'])
          const question = { kind: round.kind, tool: await toolOf(pending.name), schema: round.schema }
          const checked = await checkAnswer(question, value)
          return { status: 'resolved', value: redactFailure(round.kind, checked, node.redact) }
        },
      )
    },
  }
}
