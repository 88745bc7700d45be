import type { Json, JsonObject } from '../base/json.ts'
import { checkValue } from '../base/json-schema/compile-schema.ts'
import { errorText } from '../base/redact/redactor.ts'
import { maxStateBytes, stateBytes } from '../log/app-state.ts'
import type { AgentState } from './agent-state.ts'
import { changeProblem } from './agent-state.ts'
import type { Extension } from './define-extension.ts'
import { isSchema, isStandardSchema, type Schema, toJsonSchema } from './schema.ts'

type Given = { readonly [key: string]: unknown }

/** What is wrong with the state of an agent, and with its extensions: see `defineAgent`. */
export function stateProblems(given: Given, extensions: readonly Extension[]): string[] {
  const { state, initialState, expose, migrateState } = given
  const problems: string[] = []
  if (state !== undefined && !isSchema(state)) problems.push("'state' must be a Standard Schema or a JSON Schema")
  if (migrateState !== undefined && typeof migrateState !== 'function') {
    problems.push("'migrateState' must be a function of the old state")
  }
  if (state === undefined) {
    for (const key of ['initialState', 'expose']) if (given[key] !== undefined) problems.push(`'${key}' needs 'state'`)
    if (migrateState !== undefined && extensions.every((extension) => !extension.state)) {
      problems.push("'migrateState' needs 'state'")
    }
  }
  const keys = keysOf(state)
  if (expose !== undefined && (!Array.isArray(expose) || !expose.every((key) => typeof key === 'string'))) {
    problems.push("'expose' must be a list of keys of the state")
  } else if (expose && keys) {
    const unknown = (expose as string[]).filter((key) => !keys.includes(key))
    for (const key of unknown)
      problems.push(`'expose' names '${key}', which is not in 'state' (it has ${keys.join(', ')})`)
  }
  for (const { name } of extensions.filter((extension) => extension.state)) {
    const isTaken = keys?.includes(name) || Object.hasOwn(Object(initialState), name)
    if (isTaken) problems.push(`'state' has the key '${name}', which belongs to the extension '${name}'`)
  }
  if (isSchema(state)) problems.push(...initialProblems(state, initialState))
  return problems
}

/** What is wrong with an initial state. A schema that validates asynchronously is not asked here, but when the state is read. */
export function initialProblems(schema: Schema, initialState: unknown): string[] {
  const initial = initialState === undefined ? {} : initialState
  const problem = changeProblem(initial)
  if (problem !== null) return [`'initialState' ${problem}`]
  if (stateBytes(initial as JsonObject) > maxStateBytes) return [`'initialState' has more than ${maxStateBytes} bytes`]
  const issues = issuesOf(schema, initial as Json)
  return issues === null ? [] : [`'initialState' does not match 'state': ${issues}`]
}

function issuesOf(schema: Schema, value: Json): string | null {
  try {
    if (!isStandardSchema(schema)) {
      const verdict = checkValue(schema as JsonObject, value, 'code')
      return verdict.fits ? null : verdict.issues
    }
    const result = schema['~standard'].validate(value)
    if (result instanceof Promise) {
      result.catch(() => {})
      return null
    }
    return result.issues ? result.issues.map(({ message }) => message).join('; ') : null
  } catch (error) {
    return errorText(error)
  }
}

/** The top-level keys of a schema; null where it does not say. */
function keysOf(schema: unknown): string[] | null {
  if (!isSchema(schema)) return null
  try {
    const { properties } = toJsonSchema(schema)
    return typeof properties === 'object' && properties !== null ? Object.keys(properties) : null
  } catch {
    return null
  }
}

/** What is wrong with the extensions of an agent: they must not have anything under the same name, nor the agent. */
export function extensionProblems(given: Given, extensions: readonly Extension[]): string[] {
  const { extensions: all = [] } = given
  if (!Array.isArray(all)) return ["'extensions' must be a list"]
  const problems = all.flatMap((extension, index) =>
    extensions.includes(extension) ? [] : [`extensions[${index}] was not made by defineExtension`],
  )
  const owners = { tool: new Map<string, string>(), hook: new Map<string, string>() }
  const claim = (kind: 'tool' | 'hook', name: string, owner: string): void => {
    const other = owners[kind].get(name)
    if (other !== undefined && other !== owner)
      problems.push(`the ${kind} '${name}' is both in ${other} and in ${owner}`)
    owners[kind].set(name, owner)
  }
  for (const tool of listOf(given['tools'])) claim('tool', tool, "the agent's own tools")
  for (const hook of listOf(given['hooks'])) claim('hook', hook, "the agent's own hooks")
  const names = new Set<string>()
  for (const { name, tools, hooks } of extensions) {
    if (names.has(name)) {
      problems.push(`there are several extensions named '${name}'`)
      continue
    }
    names.add(name)
    for (const tool of tools) claim('tool', tool.name, `the extension '${name}'`)
    for (const hook of hooks) claim('hook', hook.name, `the extension '${name}'`)
  }
  return problems
}

function listOf(members: unknown): string[] {
  return Array.isArray(members) ? members.map((member) => String(Object(member).name)) : []
}

/** The state of an agent and its extensions. Null: it has none. */
export function agentState(
  { state, initialState = {}, expose = [], migrateState }: StateAttributes,
  extensions: readonly Extension[],
): AgentState | null {
  const parts = new Map(extensions.flatMap(({ name, state: part }) => (part ? [[name, part] as const] : [])))
  if (state === undefined && parts.size === 0) return null
  const shown = extensions.filter((extension) => extension.expose).map(({ name }) => name)
  return Object.freeze({
    schema: state ?? null,
    parts,
    initial: Object.freeze({ ...(initialState as JsonObject) }),
    exposed: Object.freeze([...expose, ...shown]),
    migrate: migrateState ?? null,
  })
}

type StateAttributes = {
  readonly state?: Schema | undefined
  readonly initialState?: object
  readonly expose?: readonly string[]
  readonly migrateState?: (state: JsonObject) => unknown
}
