import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import { DeterminismError, NotSuspendedError, type WinningAnswer } from '../base/errors/flow-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Json } from '../base/json.ts'
import { normaliseValue } from '../define/normalise-result.ts'
import { acceptedByLog, validate } from '../define/validate.ts'
import type { FlowRegistry } from '../engine/flow/flow-registry.ts'
import { FlowRun, type LiveOp } from '../engine/flow/flow-run.ts'
import { type Answerable, answerableOps, type FlowState, isLetGo } from '../engine/flow/flow-state.ts'
import type { LeaseRequest, WorkStarter } from '../engine/lease-request.ts'
import { encode } from '../log/codec.ts'
import { flowCallId, isQuestion, schemaOf, tagOf } from '../log/flow-questions.ts'
import { flowCall } from '../store/flow-call.ts'
import { pagesAfter } from '../store/log-pages.ts'
import type { TenantStore } from '../store/store.ts'
import { type AnswerOptions, digestOf, expectArgs, requestKey } from './answer-call.ts'

/** Which suspension an answer is for. */
export type ResumeOptions = {
  /** The same key is the same answer, however often it is given. */
  readonly key?: string
  /** Which suspension is meant, where there are several: the one with this tag, */
  readonly tag?: Json
  /** or exactly this one, so that a second click never answers the next. */
  readonly seq?: number
  /** Ends the waiting, not the resumed work. */
  readonly signal?: AbortSignal
}

export type Resuming = {
  readonly id: string
  readonly who: string
  readonly store: TenantStore
  readonly flows: FlowRegistry
  readonly loaded: () => Promise<FlowState>
  readonly worker: WorkStarter | null
  readonly requestLease: () => LeaseRequest
}

const noSeq = Number.MAX_SAFE_INTEGER

/** Records an answer. Throws before anything is written when code and record differ, when nothing waits, or when the answer does not fit. */
export async function resumeSession(
  value: unknown,
  options: ResumeOptions & Pick<AnswerOptions, 'digest'>,
  resuming: Resuming,
): Promise<void> {
  const { id, who, store, loaded, worker, requestLease } = resuming
  const given = recorded(value)
  const request = requestKey('resume', options.key, digestOf(given))
  if (options.key !== undefined && (await isKnown(request, resuming))) return
  let { seq } = options
  for (;;) {
    const state = await loaded()
    const opened = await chosen(state, { ...options, ...(seq === undefined ? {} : { seq }) }, resuming)
    // The caller meant this question, even if another is asked before the commit.
    seq = opened.seq
    expectArgs(flowCallId(id, seq), tagOf(opened.op), options.digest)
    const answer = await checkedAnswer(opened, state, given, resuming)
    failpoint('flow.before_resume')
    const leaseRequest = requestLease()
    const result = await leaseRequest.during(() =>
      store.commit(id, {
        events: [{ type: 'flow_outcome', content: { position: opened.position, ok: true, value: answer, who } }],
        calls: [flowCall(id, { ...opened, end: { status: 'resolved', value: answer } })],
        expectedSeq: state.lastSeq,
        ...request,
        wakeAt: 'now',
        conversation: { status: 'active' },
        ...leaseRequest.acquire(),
      }),
    )
    // Durable from here: the answer is in the record, and a node that has the flow's code continues.
    worker?.start(leaseRequest, leaseRequest.granted(result))
    failpoint('flow.after_resume')
    if (result.ok) return
  }
}

/** A known key is answered before anything else, so it is asked for with an impossible seq. */
async function isKnown(request: ReturnType<typeof requestKey>, { id, store }: Resuming): Promise<boolean> {
  return (await store.commit(id, { events: [], ...request, expectedSeq: noSeq })).ok
}

async function chosen(state: FlowState, { tag, seq }: ResumeOptions, { id, store }: Resuming): Promise<Answerable> {
  const open = answerableOps(state)
  const found = open.find(
    (candidate) =>
      (seq === undefined || candidate.seq === seq) &&
      (tag === undefined || encode(tagOf(candidate.op)) === encode(recorded(tag))),
  )
  if (found) return found
  const status = state.ended?.status ?? (open.length > 0 ? 'waiting' : 'running')
  const end = seq === undefined ? null : await endOfQuestion(store, id, seq)
  throw new NotSuspendedError(id, status, end?.status === 'resolved' ? end : null)
}

/** How a question ended, who ended it, and when; null where there is no such question, or it still waits. */
export async function endOfQuestion(
  store: TenantStore,
  id: string,
  seq: number,
): Promise<(WinningAnswer & { readonly status: 'resolved' | 'cancelled'; readonly value: Json }) | null> {
  let position: number | null = null
  for await (const { events } of pagesAfter(store, id, { after: seq - 1 })) {
    for (const { type, content, at, seq: here } of events) {
      if (here === seq && type === 'flow_opened' && isQuestion(content.op)) position = content.position
      if (position === null) return null
      if (type === 'flow_outcome' && content.position === position)
        return { status: 'resolved', who: content.who ?? 'system', at, value: content.ok ? content.value : null }
      if (type === 'flow_continued' || type === 'flow_ended')
        return { status: 'cancelled', who: 'system', at, value: null }
    }
  }
  return null
}

/** The answer as it is recorded. Where this process has the flow's code, that checks it; elsewhere the schema in the log does. */
async function checkedAnswer(opened: Answerable, state: FlowState, given: Json, resuming: Resuming): Promise<Json> {
  if (!resuming.flows.has(state.flow)) {
    const schema = schemaOf(opened.op)
    return schema === null ? given : acceptedByLog(schema, given)
  }
  const { schema } = await waitingCode(opened, state, resuming)
  if (!schema) return given
  const checked = await validate(schema, given)
  if (!checked.ok) throw new InvalidAnswerError('answer', checked.issues)
  return recorded(checked.value)
}

/** Code that differs from the record must not take an answer. */
async function waitingCode(opened: Answerable, state: FlowState, { id, store, flows }: Resuming): Promise<LiveOp> {
  const standstill = await new FlowRun(id, flows.replaying(id, state), state).replay()
  const live =
    standstill.type === 'blocked' ? standstill.ops.find(({ position }) => position === opened.position) : null
  if (live) return live
  // The code has ended, but the log does not say so yet; or the session was released while it waited, and the code has changed since.
  const record = await store.getConversation(id)
  if (!isLetGo(state, record) && record?.status !== 'idle') throw new NotSuspendedError(id, 'running')
  throw new DeterminismError(id, opened.position, opened.op, { end: standstill.type })
}

function recorded(value: unknown): Json {
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidAnswerError('answer', normalised.problem)
  return normalised.value
}
