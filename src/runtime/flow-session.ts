import { NoSessionError, NotASessionError, NotSuspendedError, SessionExistsError } from '../base/errors/flow-errors.ts'
import { checkSignal, readOptions } from '../base/errors/read-options.ts'
import { ConversationQuarantinedError } from '../base/errors/runtime-errors.ts'
import { CallNotFoundError, InvalidArgumentError } from '../base/errors/store-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Json } from '../base/json.ts'
import { sessionAgent } from '../define/define-flow.ts'
import { refuseChild } from '../engine/child/child-calls.ts'
import { checkFlowInput, type FlowName } from '../engine/flow/flow-registry.ts'
import {
  answerableOps,
  type FlowEndStanding,
  type FlowStanding,
  type FlowState,
  type FlowStatus,
  standingOf,
} from '../engine/flow/flow-state.ts'
import type { LoadedFlow } from '../engine/flow/load-flow.ts'
import { type LeaseRequest, noLease } from '../engine/lease-request.ts'
import { traceOf } from '../engine/observer.ts'
import type { Identity } from '../engine/scopes.ts'
import type { FlowOutcome, LogEvent } from '../log/events.ts'
import { schemaOf, tagOf } from '../log/flow-questions.ts'
import { checkId, checkWhole } from '../store/checks.ts'
import type { EventRange, Page, TenantStore } from '../store/store.ts'
import { type Answered, type AnswerOptions, checkDigest, digestOf, requestKey } from './answer-call.ts'
import { type LineageOptions, type ListedConversation, lineageOf, listedForks } from './read/lists.ts'
import { readEvents, readRecord, type WatchSessionOptions, watchSession } from './read/read-record.ts'
import { endOfQuestion, type ResumeOptions, resumeSession } from './resume-session.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** How a session is started. `traceparent`: as in `SendOptions`. */
export type StartOptions = Pick<ResumeOptions, 'key' | 'signal'> & { readonly traceparent?: string }

type SessionOptions = ResumeOptions & StartOptions

/** What a session consists of: replaying the flow against it gives where it stands. */
export type FlowRecord = Pick<FlowState, 'flow' | 'version' | 'input'> & {
  readonly outcomes: readonly FlowOutcome[]
  /** Pass it to get the outcomes after these; absent when there are none. */
  readonly after?: number
}

/** Which outcomes of a record, and how many of them. */
export type RecordOptions = {
  /** What the page before this one said. Default: from the first. */
  readonly after?: number
  /** About how many bytes, and at least one outcome. Default: 4 MiB. */
  readonly maxBytes?: number
}

/** Something a session waits for an answer to. `seq` names it in `resume`. */
export type FlowSuspension = {
  readonly seq: number
  readonly tag: Json
  /** JSON Schema of the answer; null: anything. */
  readonly schema: Json
  readonly at: number
  /** About how many bytes of `tag` and `schema` are left out here; the event at `seq` has them. */
  readonly leftOut?: number
}

/** How a session is forked. */
export type SessionForkOptions = {
  /** Up to this event, inclusive. Default: all. */
  readonly at?: number
  /** Runs the copy at once. Default: false; the copy is then `dormant` until it is resumed or continued. */
  readonly run?: boolean
}

/** How long a caller waits. */
export type WaitOptions = {
  /** Ends the waiting, not the session. */
  readonly signal?: AbortSignal
}

/**
 * A handle on one session of a flow. No I/O until a verb is called. All verbs but `start` also work in a process that does not have the code of the flow. `start`,
 * `resume` and `continue` resolve when what they record is durable and the session next waits for an answer, sleeps or has ended, or another process has to go
 * on with it.
 */
export type FlowSession<Input = Json, Result = Json> = {
  readonly id: string
  /** The same key is the same start; the signal ends the waiting, not the session. */
  start(input: Input, options?: StartOptions): Promise<FlowStanding<Result>>
  /** Answers what it waits for; of several callers one wins, and the others get its answer. The same key is the same answer. */
  resume(value: unknown, options?: ResumeOptions): Promise<FlowStanding<Result>>
  /** Waits until it waits for an answer or has ended, through sleeps and whichever process works on it. A fork that was not continued is `dormant` at once. */
  outcome(options?: WaitOptions): Promise<FlowEndStanding<Result>>
  status(): Promise<FlowStatus>
  /** What it waits for; null when it waits for no answer. */
  pending(): Promise<Json>
  /** All that waits for an answer, also while something runs. */
  suspensions(): Promise<FlowSuspension[]>
  /** When it continues by itself, if it sleeps; else null. In milliseconds, by the store's clock. */
  wakeAt(): Promise<number | null>
  /** Null when there is none. */
  result(): Promise<Result | null>
  record(options?: RecordOptions): Promise<FlowRecord | null>
  events(range?: EventRange): Promise<LogEvent[]>
  /** The events of its log as they are committed, from the first or after `after`. Ends with the session, with the signal, and when the session is deleted. */
  watch(options?: WatchSessionOptions): AsyncGenerator<LogEvent, void, void>
  /** A copy up to `at`. It does nothing until it is resumed or continued; with `run` it continues at once. */
  fork(newId: string, options?: SessionForkOptions): Promise<FlowSession<Input, Result>>
  /** Its direct forks, the newest first. */
  forks(page?: Page): Promise<ListedConversation[]>
  /** Where it was forked from, then where that was, and so on to the first. */
  lineage(options?: LineageOptions): Promise<{ readonly id: string; readonly at: number }[]>
  /** Continues with the work that the record leaves open; for forks. */
  continue(options?: WaitOptions): Promise<FlowStanding<Result>>
  /** With everything that belongs to it. False when there was none. */
  delete(): Promise<boolean>
}

/** `flow` need not be registered here: only `start` needs its code. */
export function flowSession(
  runtime: RuntimeContext,
  identity: Identity,
  flow: FlowName,
  id: string,
): FlowSession<unknown, Json> {
  const { tenant, who, scope } = identity
  const { node, worker } = runtime
  const store = node.store.forTenant(tenant)
  const ref = { tenant, id }
  const agent = sessionAgent(flow.name)

  async function load(): Promise<LoadedFlow | null> {
    const loaded = await node.flowStates.load(store, tenant, id)
    if (!loaded) await refuseConversation()
    return loaded?.state.flow === flow.name ? loaded : null
  }

  async function loadedNow(): Promise<LoadedFlow> {
    const found = await load()
    if (!found) throw new NoSessionError(id)
    return found
  }

  async function refuseConversation(): Promise<void> {
    const record = await store.getConversation(id)
    if (record?.kind === 'conversation' && record.lastSeq > 0) throw new NotASessionError(id)
  }

  /** With all that its code is replayed against. */
  async function whole(): Promise<FlowState> {
    const found = await node.flowStates.loadWhole(store, tenant, id)
    if (!found) await refuseConversation()
    if (found?.state.flow !== flow.name) throw new NoSessionError(id)
    return found.state
  }

  function requestLease(): LeaseRequest {
    return worker?.requestLease(ref, agent) ?? noLease(ref)
  }

  async function standsAt(found: LoadedFlow | null): Promise<ReturnType<typeof standingOf>> {
    return found && standingOf(found.state, await store.getConversation(id))
  }

  type Standing = NonNullable<ReturnType<typeof standingOf>>

  /** Waits until it stands in a way that is wanted. `orElse` is asked before each wait. */
  async function until<Wanted extends FlowStanding>(
    isWanted: (found: Standing) => found is Extract<Wanted, Standing>,
    orElse: () => Wanted | null,
    signal?: AbortSignal,
  ): Promise<Wanted> {
    const letProcessEnd = node.keepAlive.hold()
    const hints = runtime.hints.listen(ref, signal)
    try {
      for (;;) {
        const record = await store.getConversation(id)
        const { state, lastAt: at } = await loadedNow()
        const found = standingOf(state, record)
        if (found && isWanted(found)) return found
        if (record?.quarantine) throw new ConversationQuarantinedError(id)
        const instead = orElse()
        if (instead) return instead
        await hints.next({ seq: state.lastSeq, at, status: record?.status ?? null })
      }
    } finally {
      hints.stop()
      letProcessEnd()
    }
  }

  /** Works on the session here, if this process can. */
  async function standing(signal?: AbortSignal): Promise<FlowStanding> {
    const isElsewhere = worker === null || !node.flows.has(flow.name)
    const any = (_: Standing): _ is Standing => true
    const elsewhere = { status: 'running', elsewhere: true } as const
    if (isElsewhere) return until<FlowStanding>(any, () => elsewhere, signal)
    const letProcessEnd = node.keepAlive.hold()
    const problem = await worker.take(ref, agent).finally(letProcessEnd)
    if (problem) throw problem
    return until<FlowStanding>(any, () => null, signal)
  }

  /** Makes a session due, which also ends the dormancy of a fork. */
  async function wake(session: string): Promise<void> {
    const due = { tenant, id: session }
    const request = worker?.requestLease(due, agent) ?? noLease(due)
    failpoint('flow.before_continue')
    await request.during(() => store.commit(session, { events: [], wakeAt: 'now', conversation: { status: 'active' } }))
    // Durable from here: the session is due.
    failpoint('flow.after_continue')
    worker?.start(request, null)
  }

  return {
    id,

    async start(input, options) {
      runtime.assertOpen()
      if (runtime.subscribed !== null) await runtime.subscribed
      const { key, signal, traceparent } = readSessionOptions(options, ['key', 'signal', 'traceparent'])
      node.scopes.checkRestorable(scope)
      const code = node.flows.find(flow)
      await refuseChild(store, id)
      const checked = await checkFlowInput(code, input)
      const trace = traceOf(node, traceparent, { kind: 'flow', name: code.name })
      const content = { flow: code.name, version: code.version, input: checked, who, ...trace }
      failpoint('flow.before_start')
      const request = requestLease()
      const result = await request.during(() =>
        store.commit(id, {
          events: [{ type: 'flow_started', content }],
          expectedSeq: 0,
          ...requestKey('start', key, digestOf(content.flow, content.input)),
          conversation: { kind: 'flow', agent, status: 'active' },
          ...request.acquire(),
        }),
      )
      worker?.start(request, request.granted(result))
      if (!result.ok) {
        await refuseConversation()
        throw new SessionExistsError(id)
      }
      // Durable from here: a node that has the flow's code continues it.
      failpoint('flow.after_start')
      return await standing(signal)
    },

    async resume(value, given) {
      runtime.assertOpen()
      const options = readSessionOptions(given, ['key', 'tag', 'seq', 'signal'])
      const { flows } = node
      await resumeSession(value, options, { id, who, store, flows, loaded: whole, worker, requestLease })
      return await standing(options.signal)
    },

    async outcome(options) {
      const { signal } = readSessionOptions(options, ['signal'])
      const isEnd = (found: Standing): found is FlowEndStanding => found.status !== 'sleeping'
      const stopped = () => {
        const problem = worker?.problemOf(ref) ?? null
        if (problem && !problem.retryable) throw problem
        return null
      }
      return until<FlowEndStanding>(isEnd, stopped, signal)
    },

    async status() {
      const found = await load()
      if (!found) return 'none'
      const status = (await standsAt(found))?.status ?? 'running'
      const isDue = status === 'running' || status === 'sleeping'
      return isDue && worker?.problemOf(ref) ? 'diverged' : status
    },
    async pending() {
      const stands = await standsAt(await load())
      return stands?.status === 'waiting' || stands?.status === 'dormant' ? stands.tag : null
    },
    async suspensions() {
      const found = await load()
      const open = found ? answerableOps(found.state) : []
      return open.map(({ seq, at, op, leftOut }) => ({
        seq,
        at,
        tag: tagOf(op),
        schema: schemaOf(op),
        ...(leftOut ? { leftOut } : {}),
      }))
    },
    async wakeAt() {
      const stands = await standsAt(await load())
      return stands?.status === 'sleeping' ? stands.wakeAt : null
    },
    async result() {
      const ended = (await load())?.state.ended
      return ended?.status === 'done' ? ended.result : null
    },
    async record(options) {
      const found = await load()
      return found && readRecord(store, id, found.state, options)
    },
    async events(range) {
      await load()
      return readEvents(store, id, range)
    },
    watch: (options) =>
      watchSession({ ref, store, load: loadedNow, hints: runtime.hints, keepAlive: node.keepAlive }, options),

    async fork(newId, options) {
      runtime.assertOpen()
      const { at, run = false } = readOptions('options', options, ['at', 'run'])
      if (typeof run !== 'boolean') throw new InvalidArgumentError('run', 'must be true or false')
      await loadedNow()
      await refuseChild(store, newId)
      if (await store.getConversation(newId)) throw new SessionExistsError(newId)
      failpoint('flow.before_fork')
      await store.fork(id, newId, { owner: who, ...(at === undefined ? {} : { at }) })
      // Durable from here: the copy exists, and is dormant.
      failpoint('flow.after_fork')
      if (run) await wake(newId)
      return flowSession(runtime, identity, flow, newId)
    },
    forks: (page) => listedForks(store, id, page),
    lineage: (options) => lineageOf(store, id, options),

    async continue(options) {
      runtime.assertOpen()
      const { signal } = readSessionOptions(options, ['signal'])
      await loadedNow()
      await wake(id)
      return await standing(signal)
    },
    async delete() {
      runtime.assertOpen()
      const isDeleted = (await load()) !== null && (await store.deleteConversation(id))
      if (isDeleted) worker?.loseLease(ref)
      return isDeleted
    },
  }
}

/**
 * Answers a question of a session from anywhere. Durable when it resolves; a process that has the code continues the session. Of several answers one is
 * accepted, and the others learn how the question ended.
 */
export async function answerQuestion(
  runtime: RuntimeContext,
  { tenant, who }: Identity,
  { id, callId, seq }: { readonly id: string; readonly callId: string; readonly seq: number },
  value: unknown,
  { key, digest }: AnswerOptions,
): Promise<Answered> {
  runtime.assertOpen()
  const { node, worker } = runtime
  if (key !== undefined) checkId('key', key)
  checkDigest(digest)
  const store = node.store.forTenant(tenant)
  const loaded = async () => {
    const found = await node.flowStates.loadWhole(store, tenant, id)
    if (!found) throw new CallNotFoundError(callId)
    return found.state
  }
  const agent = sessionAgent((await loaded()).flow)
  const requestLease = () => worker?.requestLease({ tenant, id }, agent) ?? noLease({ tenant, id })
  try {
    const options = { seq, ...(key === undefined ? {} : { key }) }
    const told = digest === undefined ? options : { ...options, digest }
    await resumeSession(value, told, { id, who, store, flows: node.flows, loaded, worker, requestLease })
    return { accepted: true }
  } catch (error) {
    const end = error instanceof NotSuspendedError ? await endOfQuestion(store, id, seq) : null
    if (end) return { accepted: false, resolution: end }
    throw error instanceof NotSuspendedError && !(await asks(store, id, seq)) ? new CallNotFoundError(callId) : error
  }
}

async function asks(store: TenantStore, id: string, seq: number): Promise<boolean> {
  const [event] = await store.streamEvents(id, { after: seq - 1, before: seq + 1 })
  return event?.type === 'flow_opened'
}

/** The options of a session's verb, checked and read once. */
function readSessionOptions<Name extends keyof SessionOptions>(
  given: SessionOptions | undefined,
  names: readonly Name[],
): Partial<Pick<SessionOptions, Name>> {
  const read: SessionOptions = readOptions('options', given, names)
  if (read.key !== undefined) checkId('key', read.key)
  if (read.seq !== undefined) checkWhole('seq', read.seq, 1)
  if (read.signal !== undefined) checkSignal('signal', read.signal)
  return read
}
