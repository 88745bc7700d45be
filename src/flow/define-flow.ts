import { DefinitionError } from '../errors/definition-errors.ts'
import { unknownKeys } from '../errors/unknown-keys.ts'
import type { Json } from '../log/json.ts'
import { isSchema, type Schema, type SchemaOutput } from '../tool/schema.ts'

/** A session written as code. Its record is replayed from the start at every transition, so between `flow.*` calls it must be deterministic. */
export type Flow<Name extends string = string, Input = unknown, Result = unknown> = {
  readonly name: Name
  readonly version: string
  /** Older versions whose records this code can replay. */
  readonly compatible: readonly string[]
  readonly input: Schema | null
  run(flow: FlowVerbs, input: Input): Promise<Result>
  readonly '~types'?: { readonly input: Input; readonly result: Result }
}

/** What a flow may do. Everything that comes from outside comes through one of these, and is recorded. */
export type FlowVerbs = {
  /** Waits for somebody to resume with a value. */
  suspend<T = Json>(tag: Json, options?: { readonly schema?: Schema<T> }): Promise<T>
  /** Asks the host for an effect; resumes with what came of it. */
  request<T = Json>(kind: string, payload?: Json): Promise<T>
  /** Runs once and is recorded. After a crash it may run again, with the same `id`, unless `ifInterrupted` is 'report'. */
  step<T>(name: string, fn: (step: StepContext) => Promise<T> | T): Promise<T>
  step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T>
  sleep(ms: number): Promise<void>
  /** Sends a message to a conversation and waits for its turn to end. */
  agent(
    agent: string | { readonly name: string },
    options: { readonly id?: string; readonly message: string },
  ): Promise<AgentAnswer>
  now(): Promise<number>
  random(): Promise<number>
  uuid(): Promise<string>
  /** Begins again with a fresh record, so that long sessions stay short to replay. */
  continueAs(input: Json): Promise<never>
}

export type StepOptions = { readonly input?: Json; readonly ifInterrupted?: 'rerun' | 'report' }

/** `id` is the same in every attempt: use it as idempotency key. */
export type StepContext = { readonly id: string; readonly signal: AbortSignal }

export type AgentAnswer = {
  readonly status: string
  readonly text: string
  readonly object: Json
  readonly reason: string | null
}

export type FlowAttributes<Name extends string, In extends Schema | undefined, Result> = {
  readonly name: Name
  readonly version: string | number
  readonly compatible?: readonly (string | number)[]
  readonly input?: In
  readonly run: (flow: FlowVerbs, input: In extends Schema ? SchemaOutput<In> : Json) => Promise<Result>
}

/** Throws `DefinitionError` naming everything that is wrong. */
export function defineFlow<const Name extends string, Result, In extends Schema | undefined = undefined>(
  attributes: FlowAttributes<Name, In, Result>,
): Flow<Name, In extends Schema ? SchemaOutput<In> : Json, Result> {
  const problems = unknownKeys(attributes, ['name', 'version', 'compatible', 'input', 'run'])
  const { name, version, compatible = [], input, run } = Object(attributes) as typeof attributes
  if (typeof name !== 'string' || name === '') problems.push("'name' must be a string that is not empty")
  if (typeof version !== 'number' && (typeof version !== 'string' || version === ''))
    problems.push("'version' must be a number or a string")
  if (typeof run !== 'function') problems.push("'run' must be a function of the flow and its input")
  if (input !== undefined && !isSchema(input)) problems.push("'input' must be a schema")
  if (problems.length > 0) throw new DefinitionError(`The flow '${String(name)}'`, problems)
  return Object.freeze({
    name,
    version: String(version),
    compatible: Object.freeze(compatible.map(String)),
    input: input ?? null,
    run: run as never,
  })
}
