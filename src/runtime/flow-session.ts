import { NoSessionError, SessionExistsError } from '../base/errors/flow-errors.ts'
import { checkSignal, readOptions } from '../base/errors/read-options.ts'
import { ConversationQuarantinedError } from '../base/errors/runtime-errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Json } from '../base/json.ts'
import { type Flow, sessionAgent } from '../define/define-flow.ts'
import { tagOf } from '../define/flow-requests.ts'
import { refuseChild } from '../engine/child/child-calls.ts'
import { checkFlowInput } from '../engine/flow/flow-registry.ts'
import {
  answerableOps,
  type FlowStanding,
  type FlowState,
  type FlowStatus,
  pendingOp,
  standingOf,
} from '../engine/flow/flow-state.ts'
import { flowBound, type LoadedFlow, loadFlow } from '../engine/flow/load-flow.ts'
import { type LeaseRequest, noLease } from '../engine/lease-request.ts'
import type { Identity } from '../engine/scopes.ts'
import type { FlowOutcome, LogEvent } from '../log/events.ts'
import { checkId, checkWhole, readPage } from '../store/checks.ts'
import type { ConversationRecord } from '../store/records.ts'
import type { EventRange, Page } from '../store/store.ts'
import { digestOf, requestKey } from './answer-call.ts'
import { type LineageOptions, lineageOf } from './read/lists.ts'
import { readEvents, readRecord } from './read/read-record.ts'
import { type ResumeOptions, resumeSession } from './resume-session.ts'
import type { RuntimeContext } from './runtime-context.ts'

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

/** A handle on one session of a flow. No I/O until a verb is called. */
export type FlowSession<Input = Json, Result = Json> = {
  readonly id: string
  /** Resolves when it waits for an answer or has ended. The same key is the same start; the signal ends the waiting, not the session. */
  start(input: Input, options?: { readonly key?: string; readonly signal?: AbortSignal }): Promise<FlowStanding<Result>>
  /** Answers what it waits for; of several who try, one wins and the others are told. The same key is the same answer. */
  resume(value: unknown, options?: ResumeOptions): Promise<FlowStanding<Result>>
  status(): Promise<FlowStatus>
  /** What it waits for; null when it waits for no answer. */
  pending(): Promise<Json>
  /** All that waits for an answer, also while something runs. */
  suspensions(): Promise<FlowSuspension[]>
  /** Null when there is none. */
  result(): Promise<Result | null>
  record(options?: RecordOptions): Promise<FlowRecord | null>
  events(range?: EventRange): Promise<LogEvent[]>
  /** A copy up to `at` (inclusive; default: all), which does nothing until it is resumed or continued. */
  fork(newId: string, options?: { readonly at?: number }): Promise<FlowSession<Input, Result>>
  /** Its direct forks, the newest first. */
  forks(page?: Page): Promise<ConversationRecord[]>
  /** Where it was forked from, then where that was, and so on to the first. */
  lineage(options?: LineageOptions): Promise<{ readonly id: string; readonly at: number }[]>
  /** Goes on with what the record leaves to do; for forks. */
  continue(options?: { readonly signal?: AbortSignal }): Promise<FlowStanding<Result>>
  /** With everything that belongs to it. False when there was none. */
  delete(): Promise<boolean>
}

export function flowSession(
  runtime: RuntimeContext,
  identity: Identity,
  flow: Flow,
  id: string,
): FlowSession<unknown, Json> {
  const { tenant, who, scope } = identity
  const { node, worker } = runtime
  const store = node.store.forTenant(tenant)
  const ref = { tenant, id }
  const agent = sessionAgent(flow.name)

  async function load(): Promise<LoadedFlow | null> {
    const loaded = await node.flowStates.load(store, tenant, id)
    return loaded?.state.flow === flow.name ? loaded : null
  }

  async function loadedNow(): Promise<LoadedFlow> {
    const found = await load()
    if (!found) throw new NoSessionError(id)
    return found
  }

  async function loaded(): Promise<FlowState> {
    return (await loadedNow()).state
  }

  /** With all that its code is replayed against. */
  async function whole(): Promise<FlowState> {
    const found = await node.flowStates.loadWhole(store, tenant, id)
    if (found?.state.flow !== flow.name) throw new NoSessionError(id)
    return found.state
  }

  function requestLease(): LeaseRequest {
    return worker?.requestLease(ref, agent) ?? noLease(ref)
  }

  /** Works on the session here, if this node can, and waits until it has ended or needs an answer. */
  async function standing(signal?: AbortSignal): Promise<FlowStanding> {
    const letProcessEnd = node.keepAlive.hold()
    const hints = runtime.hints.listen(ref, signal)
    try {
      const problem = await worker?.take(ref, agent)
      if (problem) throw problem
      for (;;) {
        const record = await store.getConversation(id)
        const { state, lastAt: at } = await loadedNow()
        const found = standingOf(state, record)
        if (found) return found
        if (record?.quarantine) throw new ConversationQuarantinedError(id)
        await hints.next({ seq: state.lastSeq, at, status: record?.status ?? null })
      }
    } finally {
      hints.stop()
      letProcessEnd()
    }
  }

  async function fork(newId: string, at: number | undefined): Promise<void> {
    await loaded()
    await refuseChild(store, newId)
    if (await store.getConversation(newId)) throw new SessionExistsError(newId)
    await store.fork(id, newId, at === undefined ? {} : { at })
    const copy = await loadFlow(store, newId, flowBound)
    // Only for lists: what it waits for is in its log.
    if (copy) await store.putConversation(newId, { status: statusOfFork(copy.state) })
  }

  return {
    id,

    async start(input, options) {
      runtime.assertOpen()
      const { key, signal } = readSessionOptions(options, ['key', 'signal'])
      await refuseChild(store, id)
      const content = { flow: flow.name, version: flow.version, input: await checkFlowInput(flow, input), who }
      node.scopes.rememberSession(tenant, id, who, scope)
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
      if (!result.ok) throw new SessionExistsError(id)
      // Durable from here: a node that has the flow's code goes on with it.
      failpoint('flow.after_start')
      return await standing(signal)
    },

    async resume(value, given) {
      runtime.assertOpen()
      const options = readSessionOptions(given, ['key', 'tag', 'seq', 'signal'])
      await resumeSession(value, options, {
        id,
        who,
        store,
        flows: node.flows,
        loaded: whole,
        worker,
        requestLease,
      })
      return await standing(options.signal)
    },

    async status() {
      const found = await load()
      if (!found) return 'none'
      const standing = standingOf(found.state, await store.getConversation(id))
      return standing?.status ?? (worker?.problemOf(ref) ? 'diverged' : 'running')
    },
    async pending() {
      const found = await load()
      const stands = found && standingOf(found.state, await store.getConversation(id))
      return stands?.status === 'suspended' ? stands.tag : null
    },
    async suspensions() {
      const found = await load()
      const open = found ? answerableOps(found.state) : []
      return open.map(({ seq, at, op, leftOut }) => ({
        ...{ seq, at, tag: tagOf(op), schema: schemaIn(op) },
        ...(leftOut ? { leftOut } : {}),
      }))
    },
    async result() {
      const ended = (await load())?.state.ended
      return ended?.status === 'done' ? ended.result : null
    },
    async record(options) {
      const found = await load()
      return found && readRecord(store, id, found.state, options)
    },
    events: (range) => readEvents(store, id, range),

    async fork(newId, options) {
      runtime.assertOpen()
      const { at } = readOptions('options', options, ['at'])
      await fork(newId, at)
      return flowSession(runtime, identity, flow, newId)
    },
    forks: async (page) => store.listConversations({ ...readPage(page), forkOf: id }),
    lineage: (options) => lineageOf(store, id, options),

    async continue(options) {
      runtime.assertOpen()
      const { signal } = readSessionOptions(options, ['signal'])
      await loaded()
      const request = requestLease()
      await request.during(() => store.commit(id, { events: [], wakeAt: 'now', conversation: { status: 'active' } }))
      // Durable from here: the session is due.
      worker?.start(request, null)
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

/** What a verb of a session is told beside its value, checked and read once. */
function readSessionOptions<Name extends keyof ResumeOptions>(
  given: ResumeOptions | undefined,
  names: readonly Name[],
): Partial<Pick<ResumeOptions, Name>> {
  const read: ResumeOptions = readOptions('options', given, names)
  if (read.key !== undefined) checkId('key', read.key)
  if (read.seq !== undefined) checkWhole('seq', read.seq, 1)
  if (read.signal !== undefined) checkSignal('signal', read.signal)
  return read
}

function statusOfFork(state: FlowState): 'ended' | 'suspended' | 'idle' {
  if (state.ended) return 'ended'
  return pendingOp(state) ? 'suspended' : 'idle'
}

function schemaIn(op: { readonly kind: string; readonly schema?: Json }): Json {
  return op.schema ?? null
}
