import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import type { FlowOp, TurnStatus } from '../log/events.ts'
import { checkDuration, checkId } from '../store/checks.ts'
import type { Jsonify } from './jsonify.ts'
import { normaliseValue } from './normalise-result.ts'
import { type Schema, type SchemaOutput, toJsonSchema } from './schema.ts'

/** What a flow may do. Everything that comes from outside comes through one of these, and is recorded. */
export type FlowVerbs = {
  /** Waits for somebody to resume with a value. */
  suspend<S extends Schema>(tag: Json, options: { readonly schema: S }): Promise<Jsonify<SchemaOutput<S>>>
  suspend<T = Json>(tag: Json): Promise<T>
  /** Asks the host for an effect; resumes with what came of it. */
  request<T = Json>(kind: string, payload?: Json): Promise<T>
  /** Runs once and is recorded. After a crash it may run again, with the same `id`, unless `ifInterrupted` is 'report'. */
  step<T>(name: string, fn: StepFunction<T>): Promise<Jsonify<T>>
  step<T>(name: string, options: StepOptions, fn: StepFunction<T>): Promise<Jsonify<T>>
  /** At least so long, also when nobody is alive at its end. */
  sleep(ms: number): Promise<void>
  /**
   * Sends a message to a conversation, a new one where no `id` is given, and waits for its turn to end. The agent must be one of the runtime's
   * `agents`; one that only tools start is `no_such_agent`.
   */
  agent(
    agent: string | { readonly name: string },
    options: { readonly id?: string; readonly message: string },
  ): Promise<AgentAnswer>
  now(): Promise<number>
  random(): Promise<number>
  uuid(): Promise<string>
  /** Begins again with a fresh record, in the newest version there is, so that long sessions stay short. Does not return. */
  continueAs(input: Json): Promise<never>
}

/** What a step is known again by, and what to do when it was interrupted. */
export type StepOptions = {
  /** What the step works on; compared on replay. */
  readonly input?: Json
  /** Default: `rerun`. */
  readonly ifInterrupted?: 'rerun' | 'report'
}

/** What a step runs. What it returns is recorded as JSON; what it throws, too. */
export type StepFunction<T = unknown> = (step: StepContext) => Promise<T> | T

/** `id` is the same in every attempt: use it as idempotency key. */
export type StepContext = { readonly id: string; readonly signal: AbortSignal }

/** How an agent's turn ended. `object` is null where there is none. */
export type AgentAnswer = {
  readonly status: TurnStatus
  readonly text: string
  readonly object: Json
  readonly reason: string | null
}

/** What a verb asks the replay for; `run` is there for steps, `schema` where an answer is checked. */
export type AskedFor = {
  readonly op: FlowOp
  readonly run: StepFunction | null
  readonly schema: Schema | null
}

/** The verbs as the flow's code sees them: each asks for one operation. Wrong arguments throw, and nothing is asked for. */
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
    agent: (agent, { id, message }) => {
      const name = typeof agent === 'string' ? agent : agent.name
      checkId('agent', name)
      if (id !== undefined) checkId('conversation id', id)
      if (typeof message !== 'string') throw new InvalidArgumentError('message', 'must be a string')
      return plain({ kind: 'agent', agent: name, id: id ?? null, message })
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

/** As it will be read back, so that a replay compares like with like. */
function recordable<T>(name: string, value: T): T {
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidArgumentError(name, `cannot be recorded: ${normalised.problem}`)
  return normalised.value as T
}
