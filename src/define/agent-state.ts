import { StateInvalidError, StateRefusedError } from '../base/errors/definition-errors.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { errorText } from '../base/redact/redactor.ts'
import { maxStateBytes, patchBetween, stateBytes } from '../log/app-state.ts'
import type { StatePatch } from '../log/events.ts'
import { normaliseValue } from './normalise-result.ts'
import type { Schema } from './schema.ts'
import { type AnyState, deepFreeze, type StateUpdate } from './turn.ts'
import { type Validation, validate } from './validate.ts'

/** The state that an agent's conversations have. */
export type AgentState = {
  /** The schema of the keys that no extension has. Null: there are none. */
  readonly schema: Schema | null
  /** The parts of extensions, by the names of their extensions. */
  readonly parts: ReadonlyMap<string, StatePart>
  readonly initial: JsonObject
  /** The top-level keys that views show. */
  readonly exposed: readonly string[]
  /** Converts a state that does not match the schema. Null: such a state fails the turn. */
  readonly migrate: ((state: JsonObject) => unknown) | null
}

export type StatePart = { readonly schema: Schema; readonly initial: JsonObject }

type Where = { readonly agent: string; readonly conversationId: string }

/** The state as the application reads it: the output of its schemas, frozen. Throws `StateInvalidError`. */
export async function readState(
  definition: AgentState,
  values: JsonObject | undefined,
  where: Where,
): Promise<JsonObject> {
  const given = values ?? definition.initial
  const known = read.get(given)
  if (known?.definition === definition) return known.state
  const checked = await checkState(definition, given)
  const state = checked.ok ? checked.value : await migrated(definition, given, checked.issues, where)
  // All readers of this state share it, and all conversations share the initial one.
  deepFreeze(state)
  read.set(given, { definition, state })
  return state
}

/** Why a state does not match its schemas; null when it does. Runs nothing but the schemas. */
export async function stateProblem(definition: AgentState, values: JsonObject): Promise<string | null> {
  const checked = await checkState(definition, values)
  return checked.ok ? null : checked.issues
}

/** States never change, so each is checked once. */
const read = new WeakMap<JsonObject, { readonly definition: AgentState; readonly state: JsonObject }>()

async function migrated(definition: AgentState, values: JsonObject, issues: string, where: Where): Promise<JsonObject> {
  const fail = (problem: string) => new StateInvalidError(where.agent, where.conversationId, problem)
  if (!definition.migrate) throw fail(issues)
  let converted: unknown
  try {
    converted = await definition.migrate(structuredClone(values) as JsonObject)
  } catch (error) {
    throw fail(`${issues}; migrateState threw ${errorText(error)}`)
  }
  const checked = await checkState(definition, converted)
  if (!checked.ok) throw fail(`what migrateState returned does not match either: ${checked.issues}`)
  return checked.value
}

/** What a change makes of the state: what to record of it, and the state after it. A null patch: nothing changes. */
export type Update = { readonly patch: StatePatch | null; readonly state: JsonObject }

/**
 * Applies updates to the newest state. Runs functions of the application, which must be pure: they are called again if the log has grown before the commit.
 * Throws `StateRefusedError` when the result does not match the schemas, is too large, or when a function throws.
 */
export async function updateState(
  definition: AgentState,
  values: JsonObject | undefined,
  updates: readonly StateUpdate[],
  where: Where,
): Promise<Update> {
  let next: AnyState = await readState(definition, values, where)
  for (const update of updates) next = updated(next, update)
  const checked = await checkState(definition, next)
  if (!checked.ok) throw new StateRefusedError(checked.issues)
  const bytes = stateBytes(checked.value)
  if (bytes > maxStateBytes) throw new StateRefusedError(`it would have ${bytes} bytes; the limit is ${maxStateBytes}`)
  return { patch: patchBetween(values ?? {}, checked.value), state: checked.value }
}

function updated(state: AnyState, update: StateUpdate): AnyState {
  const change = typeof update === 'function' ? changeOf(update, state) : update
  const problem = changeProblem(change)
  if (problem !== null) throw new StateRefusedError(`the function returned a change that ${problem}`)
  return mergeChange(state, change)
}

/** The state with a change: keys that are undefined are removed. */
export function mergeChange(state: AnyState, change: AnyState): AnyState {
  const merged: Record<string, unknown> = { ...state, ...change }
  for (const [key, value] of Object.entries(change)) if (value === undefined) delete merged[key]
  return merged
}

function changeOf(update: (state: AnyState) => AnyState, state: AnyState): AnyState {
  try {
    return update(state)
  } catch (error) {
    throw new StateRefusedError(`the function of the state threw ${errorText(error)}`)
  }
}

/** Refuses what is neither a change nor a function of the state, before anything is read. */
export function checkedUpdate(update: unknown): StateUpdate {
  if (typeof update === 'function') return update as StateUpdate
  const problem = changeProblem(update)
  if (problem === null) return update as StateUpdate
  throw new InvalidArgumentError('update', `must be an object of keys to set or a function of the state; it ${problem}`)
}

/** Why a value is not a change of state, as text that follows "that"; null when it is one. */
export function changeProblem(change: unknown): string | null {
  // A proxy may throw whatever is asked of it.
  try {
    if (change instanceof Promise) return 'is a promise; it must be synchronous'
    const prototype = typeof change === 'object' && change !== null ? Object.getPrototypeOf(change) : undefined
    if (prototype !== Object.prototype && prototype !== null) return 'is not a plain object of keys to set'
    const json = normaliseValue(change)
    return json.ok ? null : `is not JSON: ${json.problem}`
  } catch (error) {
    return `cannot be read: ${errorText(error)}`
  }
}

/** Checks a state by its schemas, each for its own keys. What they return is the state, as JSON. */
async function checkState(definition: AgentState, given: unknown): Promise<Validation<JsonObject>> {
  const json = asObject(given)
  if (!json.ok) return json
  const values = json.value
  const own = Object.fromEntries(Object.entries(values).filter(([key]) => !definition.parts.has(key)))
  const checked = definition.schema ? asChecked(await validate(definition.schema, own)) : nothing
  if (!checked.ok) return checked
  const state: Record<string, Json> = { ...checked.value }
  for (const [key, { schema, initial }] of definition.parts) {
    const part = asChecked(await validate(schema, Object.hasOwn(values, key) ? values[key] : initial))
    if (!part.ok) return { ...part, issues: `${key}: ${part.issues}` }
    state[key] = part.value
  }
  return { ok: true, value: state }
}

const nothing: Validation<JsonObject> = { ok: true, value: {} }

function asChecked(checked: Validation<unknown>): Validation<JsonObject> {
  return checked.ok ? asObject(checked.value) : checked
}

function asObject(value: unknown): Validation<JsonObject> {
  const json = normaliseValue(value)
  if (!json.ok) return { ok: false, issues: `it is not JSON: ${json.problem}` }
  const isObject = typeof json.value === 'object' && json.value !== null && !Array.isArray(json.value)
  return isObject ? { ok: true, value: json.value as JsonObject } : { ok: false, issues: 'it must be an object' }
}
