import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-options.ts'
import type { Json } from '../base/json.ts'
import { checkId, checkNewId } from '../store/checks.ts'
import type { FlowVerbs } from './flow-verbs.ts'
import { isSchema, type Schema, type SchemaInput, type SchemaOutput } from './schema.ts'

/**
 * A session written as code. Its record is replayed from the start at each transition, so the code between `flow.*`
 * calls must be deterministic.
 */
export type Flow<Name extends string = string, Input = unknown, Result = unknown> = {
  readonly name: Name
  readonly version: string
  /** Whether this code can replay a record of that version. */
  replays(version: string): boolean
  readonly input: Schema | null
  /** `input` is the output of its schema. */
  run(flow: FlowVerbs, input: unknown): Promise<unknown>
  /** For type inference only. Never set. */
  readonly '~types'?: { readonly input: Input; readonly result: Result }
}

/** Older versions whose records this code can replay: a list, or, for numeric versions, all from one on. */
export type CompatibleVersions = readonly (string | number)[] | { readonly from: number }

/** The attributes of `defineFlow`. */
export type FlowAttributes<Name extends string, In extends Schema | undefined, Result> = {
  readonly name: Name
  readonly version: string | number
  readonly compatible?: CompatibleVersions
  readonly input?: In
  readonly run: (flow: FlowVerbs, input: In extends Schema ? SchemaOutput<In> : Json) => Promise<Result>
}

/**
 * Defines a flow. The log identifies it by its name and version. Throws `DefinitionError` with everything that is
 * wrong.
 */
export function defineFlow<const Name extends string, Result, In extends Schema | undefined = undefined>(
  attributes: FlowAttributes<Name, In, Result>,
): Flow<Name, In extends Schema ? SchemaInput<In> : Json, Result> {
  const problems = problemsOf(attributes)
  const { name, version, compatible = [], input, run } = Object(attributes) as typeof attributes
  if (problems.length > 0) throw new DefinitionError(`The flow '${String(name)}'`, problems)
  return Object.freeze({
    name,
    version: String(version),
    replays: (recorded: string) => recorded === String(version) || isCompatible(recorded, version, compatible),
    input: input ?? null,
    run: run as Flow['run'],
  })
}

/** The agent name of a flow's sessions in the store. */
export function sessionAgent(flow: string): string {
  return `flow:${flow}`
}

/** The flow whose sessions have this agent name in the store; null for the name of an agent. */
export function flowOfAgent(agent: string | null): string | null {
  return agent?.startsWith(sessionAgent('')) ? agent.slice(sessionAgent('').length) : null
}

function isCompatible(recorded: string, version: string | number, compatible: CompatibleVersions): boolean {
  if (!('from' in compatible)) return compatible.some((known) => String(known) === recorded)
  const number = Number(recorded)
  return String(number) === recorded && number >= compatible.from && number <= Number(version)
}

function problemsOf(attributes: unknown): string[] {
  const problems = unknownKeys(attributes, ['name', 'version', 'compatible', 'input', 'run'])
  const { name, version, compatible = [], input, run } = Object(attributes) as { [key: string]: unknown }
  if (!isName(name)) problems.push("'name' must be a string of 1 to 250 bytes without control characters")
  if (!isVersion(version)) problems.push("'version' must be a number or a string that is not empty")
  if (!isCompatibleVersions(compatible, version)) {
    problems.push("'compatible' must be a list of versions, or { from } where versions are numbers")
  }
  if (input !== undefined && !isSchema(input)) problems.push("'input' must be a Standard Schema or a JSON Schema")
  if (typeof run !== 'function') problems.push("'run' must be a function of the flow and its input")
  return problems
}

function isName(name: unknown): boolean {
  try {
    checkNewId('name', name)
    checkId('name', sessionAgent(name))
    return true
  } catch {
    return false
  }
}

function isVersion(version: unknown): version is string | number {
  return typeof version === 'string' ? version !== '' : Number.isFinite(version)
}

function isCompatibleVersions(compatible: unknown, version: unknown): boolean {
  if (Array.isArray(compatible)) return compatible.every(isVersion)
  const { from } = Object(compatible) as { from?: unknown }
  return Number.isFinite(from) && Number.isFinite(Number(version))
}

/** An effect as data: the host performs it and resumes the session with the result. */
export type FlowRequest = { readonly type: 'request'; readonly kind: string; readonly payload: Json }

/** Whether a session waits for its host to perform an effect. */
export function isRequest(tag: unknown): tag is FlowRequest {
  return (
    typeof tag === 'object' &&
    tag !== null &&
    'type' in tag &&
    tag.type === 'request' &&
    'kind' in tag &&
    'payload' in tag
  )
}

/** The kind of a request, or null. */
export function requestKind(tag: unknown): string | null {
  return isRequest(tag) ? tag.kind : null
}

/** The payload of a request, or null. */
export function requestPayload(tag: unknown): Json {
  return isRequest(tag) ? tag.payload : null
}
