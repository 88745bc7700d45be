import { InvalidAnswerError } from '../errors/definition-errors.ts'
import { NoSessionError, NotSuspendedError, SessionExistsError } from '../errors/flow-errors.ts'
import { InvalidArgumentError } from '../errors/store-errors.ts'
import type { Flow } from '../flow/define-flow.ts'
import { FlowRun } from '../flow/flow-run.ts'
import { type FlowState, foldFlow, isAnswered, pendingOp } from '../flow/flow-state.ts'
import { tagOf } from '../flow/requests.ts'
import type { FlowOutcome } from '../log/events.ts'
import type { Json, JsonObject } from '../log/json.ts'
import { normaliseValue } from '../tool/normalise-result.ts'
import { validate } from '../tool/validate.ts'
import type { Identity } from './identity.ts'
import type { RuntimeContext } from './runtime-context.ts'

export type FlowStanding<Result = Json> =
  | { readonly status: 'suspended'; readonly tag: Json }
  | { readonly status: 'done'; readonly result: Result }
  | { readonly status: 'failed'; readonly error: string }

export type FlowStatus = 'none' | 'running' | 'suspended' | 'done' | 'failed'

/** What a session consists of: replaying the flow against it gives where it stands. */
export type FlowRecord = Pick<FlowState, 'flow' | 'version' | 'input' | 'outcomes'>

/** A handle on one session of a flow. No I/O until a verb is called. */
export type FlowSession<Input = Json, Result = Json> = {
  readonly id: string
  /** Resolves when it waits for somebody or has ended. */
  start(input: Input): Promise<FlowStanding<Result>>
  /** Answers what it waits for; of several who try, one wins. */
  resume(value: unknown): Promise<FlowStanding<Result>>
  status(): Promise<FlowStatus>
  /** What it waits for; null when it waits for nobody. */
  pending(): Promise<Json>
  /** Null when there is none. */
  result(): Promise<Result | null>
  record(): Promise<FlowRecord | null>
  /** A copy that goes its own way from here. */
  fork(newId: string): Promise<FlowSession<Input, Result>>
}

export function flowAgentName(flow: string): string {
  return `flow:${flow}`
}

export function flowSession(
  runtime: RuntimeContext,
  identity: Identity,
  flow: Flow,
  id: string,
): FlowSession<unknown, Json> {
  const { tenant, who } = identity
  const store = runtime.store.forTenant(tenant)
  const ref = { tenant, id }
  const load = async (): Promise<FlowState | null> => foldFlow(await store.streamEvents(id))

  async function loaded(): Promise<FlowState> {
    const state = await load()
    if (!state) throw new NoSessionError(id)
    return state
  }

  /** Works on it here, where it can be, and waits until nothing goes on without somebody. */
  async function standing(): Promise<FlowStanding> {
    const letProcessEnd = runtime.keepAlive.hold()
    try {
      const problem = await runtime.worker?.take(ref, flowAgentName(flow.name))
      if (problem) throw problem
      for (;;) {
        const found = standingOf(await loaded())
        if (found) return found
        await runtime.nextHint(ref)
      }
    } finally {
      letProcessEnd()
    }
  }

  return {
    id,

    async start(input) {
      runtime.assertOpen()
      const checked = await checkedInput(flow, input)
      const content = { flow: flow.name, version: flow.version, input: checked, who }
      const conversation = { kind: 'flow' as const, agent: flowAgentName(flow.name), status: 'active' as const }
      const result = await store.commit(id, {
        events: [{ type: 'flow_started', content }],
        expectedSeq: 0,
        conversation,
      })
      if (!result.ok) throw new SessionExistsError(id)
      // Durable from here: whoever has the flow's code goes on with it.
      return await standing()
    },

    async resume(value) {
      runtime.assertOpen()
      const state = await loaded()
      const pending = pendingOp(state)
      if (!pending || !isAnswered(pending.op)) throw new NotSuspendedError(id, statusOf(state))
      // Before anything is written: code that differs from the record must not take an answer.
      await new FlowRun(id, flow, state).replay(state.input)
      const schema = pending.op.kind === 'suspend' ? pending.op.schema : undefined
      const content: FlowOutcome = {
        position: pending.position,
        ok: true,
        value: await checkedAnswer(schema, value),
        who,
      }
      const result = await store.commit(id, {
        events: [{ type: 'flow_outcome', content }],
        expectedSeq: state.lastSeq,
        wakeAt: 'now',
        conversation: { status: 'active' },
      })
      if (!result.ok)
        throw new NotSuspendedError(id, `${statusOf(await loaded())}, because somebody else answered first`)
      return await standing()
    },

    async status() {
      const state = await load()
      return state ? statusOf(state) : 'none'
    },
    async pending() {
      const state = await load()
      const pending = state && pendingOp(state)
      return pending && isAnswered(pending.op) ? tagOf(pending.op) : null
    },
    async result() {
      const ended = (await load())?.ended
      return ended?.status === 'done' ? ended.result : null
    },
    async record() {
      const state = await load()
      if (!state) return null
      const { flow: name, version, input, outcomes } = state
      return { flow: name, version, input, outcomes }
    },
    async fork(newId) {
      runtime.assertOpen()
      await loaded()
      if (await store.getConversation(newId)) throw new SessionExistsError(newId)
      await store.fork(id, newId)
      return flowSession(runtime, identity, flow, newId)
    },
  }
}

function statusOf(state: FlowState): FlowStatus {
  return standingOf(state)?.status ?? 'running'
}

function standingOf(state: FlowState): FlowStanding | null {
  if (state.ended) return state.ended
  const pending = pendingOp(state)
  return pending && isAnswered(pending.op) ? { status: 'suspended', tag: tagOf(pending.op) } : null
}

async function checkedInput(flow: Flow, input: unknown): Promise<Json> {
  const recorded = normaliseValue(input)
  if (!recorded.ok) throw new InvalidArgumentError('input', `cannot be recorded: ${recorded.problem}`)
  if (!flow.input) return recorded.value
  const checked = await validate(flow.input, recorded.value)
  if (!checked.ok) throw new InvalidArgumentError('input', `does not fit the flow '${flow.name}': ${checked.issues}`)
  return recorded.value
}

async function checkedAnswer(schema: Json | undefined, value: unknown): Promise<Json> {
  const recorded = normaliseValue(value)
  if (!recorded.ok) throw new InvalidAnswerError('answer', recorded.problem)
  if (typeof schema !== 'object' || schema === null) return recorded.value
  const checked = await validate(schema as JsonObject, recorded.value)
  if (!checked.ok) throw new InvalidAnswerError('answer', checked.issues)
  return recorded.value
}
