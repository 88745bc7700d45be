import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import type { FlowOp, TurnStatus } from '../log/events.ts'
import { checkDuration, checkId } from '../store/checks.ts'
import type { Jsonify } from './jsonify.ts'
import { normaliseValue } from './normalise-result.ts'
import { type Schema, type SchemaOutput, toJsonSchema } from './schema.ts'

/** The verbs of a flow. All input from outside comes through one of them, and is recorded. */
export type FlowVerbs = {
  /** Waits until the session is resumed with a value. */
  suspend<S extends Schema>(tag: Json, options: { readonly schema: S }): Promise<Jsonify<SchemaOutput<S>>>
  suspend<T = Json>(tag: Json): Promise<T>
  /** Asks the host for an effect, and resumes with its result. */
  request<T = Json>(kind: string, payload?: Json): Promise<T>
  /**
   * Runs once and is recorded. After a crash it may run again with the same `id`, unless `ifInterrupted` is 'report'.
   */
  step<T>(name: string, fn: StepFunction<T>): Promise<Jsonify<T>>
  step<T>(name: string, options: StepOptions, fn: StepFunction<T>): Promise<Jsonify<T>>
  /** Waits at least this long, even if no process is alive when the time is up. */
  sleep(ms: number): Promise<void>
  /**
   * Sends a message to a conversation (a new one without `id`) and waits for its turn to end. The agent must be in the
   * runtime's `agents`; for an agent that only tools start, it throws `no_such_agent`.
   */
  agent(
    agent: string | { readonly name: string },
    options: { readonly id?: string; readonly message: string; readonly data?: Json },
  ): Promise<AgentAnswer>
  now(): Promise<number>
  random(): Promise<number>
  uuid(): Promise<string>
  /**
   * Starts again with an empty record, in the newest version, to keep the records of long sessions short. Does not
   * return.
   */
  continueAs(input: Json): Promise<never>
}

/** How a step is identified on replay, and what happens when it was interrupted. */
export type StepOptions = {
  /** The input of the step. Compared on replay. */
  readonly input?: Json
  /** Default: `rerun`. */
  readonly ifInterrupted?: 'rerun' | 'report'
}

/** The function of a step. Its result is recorded as JSON, and so is what it throws. */
export type StepFunction<T = unknown> = (step: StepContext) => Promise<T> | T

/** `id` is the same in every attempt. Use it as an idempotency key. */
export type StepContext = { readonly id: string; readonly signal: AbortSignal }

/** How an agent's turn ended. `object` is null if there is none. */
export type AgentAnswer = {
  readonly status: TurnStatus
  readonly text: string
  /** As in `TurnOutcome`. Absent in answers that an earlier version recorded. */
  readonly finishReason?: string | null
  readonly object: Json
  readonly reason: string | null
}

/** A request of a verb to the replay. Steps have `run`; verbs that check an answer have `schema`. */
export type AskedFor = {
  readonly op: FlowOp
  readonly run: StepFunction | null
  readonly schema: Schema | null
}

/**
 * The verbs as the flow's code sees them: each requests one operation. Invalid arguments throw before anything is
 * requested.
 */
export function flowVerbs(
  ask: (asked: AskedFor) => Promise<never>,
  continueAs: (input: Json) => Promise<never>,
): FlowVerbs {
  const plain = (op: FlowOp): Promise<never> => ask({ op: recordable(op.kind, op), run: null, schema: null })
  return {
    suspend: (tag: Json, { schema }: { schema?: Schema } = {}) => {
      const op: FlowOp = { kind: 'suspend', tag: tag ?? null, ...(schema ? { schema: toJsonSchema(schema) } : {}) }
      return ask({ op: recordable('suspend', op), run: null, schema: schema ?? null })
    },
    request: (kind, payload) => {
      if (typeof kind !== 'string') throw new InvalidArgumentError('kind', 'must be a string')
      return plain({ kind: 'request', request: kind, payload: payload ?? null })
    },
    step: (name: string, ...rest: unknown[]) => ask(stepOf(name, rest)),
    sleep: (ms) => {
      checkDuration('ms', ms, 0)
      return plain({ kind: 'sleep', ms })
    },
    agent: (agent, { id, message, data }) => {
      const name = typeof agent === 'string' ? agent : agent.name
      checkId('agent', name)
      if (id !== undefined) checkId('conversation id', id)
      if (typeof message !== 'string') throw new InvalidArgumentError('message', 'must be a string')
      return plain({ kind: 'agent', agent: name, id: id ?? null, message, ...(data === undefined ? {} : { data }) })
    },
    now: () => plain({ kind: 'now' }),
    random: () => plain({ kind: 'random' }),
    uuid: () => plain({ kind: 'uuid' }),
    continueAs: (input) => continueAs(recordable('continueAs', input ?? null)),
  }
}

function stepOf(name: string, rest: readonly unknown[]): AskedFor {
  if (typeof name !== 'string') throw new InvalidArgumentError('step', 'needs a name')
  const run = rest.at(-1)
  if (typeof run !== 'function') throw new InvalidArgumentError(`step '${name}'`, 'needs a function to run')
  const { input = null, ifInterrupted = 'rerun' } = (rest.length > 1 ? Object(rest[0]) : {}) as StepOptions
  if (ifInterrupted !== 'rerun' && ifInterrupted !== 'report') {
    throw new InvalidArgumentError('ifInterrupted', `must be 'rerun' or 'report', not '${String(ifInterrupted)}'`)
  }
  const op = recordable<FlowOp>(`step '${name}'`, { kind: 'step', name, input, ifInterrupted })
  return { op, run: run as StepFunction, schema: null }
}

/** The value as it will be read back, so that a replay compares equal values. */
function recordable<T>(name: string, value: T): T {
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidArgumentError(name, `cannot be recorded: ${normalised.problem}`)
  return normalised.value as T
}
