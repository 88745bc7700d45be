import type { Json, JsonObject } from '../base/json.ts'
import type { StatePatch, StateSet } from './events.ts'

/** The most that the state of a conversation may take, as JSON. */
export const maxStateBytes = 64 * 1024

/** The application's state of a conversation. `exposed`: the keys that views show. */
export type AppState = { readonly values: JsonObject; readonly exposed: readonly string[] }

/** The state after a change. Null when it would be larger than `maxStateBytes`: such a change has no effect. */
export function changedState(
  state: AppState | undefined,
  { patch, exposed }: Pick<StateSet, 'patch' | 'exposed'>,
): AppState | null {
  const values = patched(state?.values ?? {}, patch)
  const bytes = bytesAfter(state?.values, patch)
  if (bytes > maxStateBytes) return null
  sizes.set(values, bytes)
  return { values, exposed }
}

/** The values with a change. Keys keep their places; new ones come last. */
export function patched(values: JsonObject, { set, remove }: StatePatch): JsonObject {
  const next = { ...values, ...set } as Record<string, Json>
  for (const key of remove) delete next[key]
  return next
}

/** The change from one state to another, by top-level keys. Null when they are the same. */
export function patchBetween(before: JsonObject, after: JsonObject): StatePatch | null {
  const changed = Object.keys(after).filter(
    (key) => !Object.hasOwn(before, key) || JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  )
  const remove = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  if (changed.length === 0 && remove.length === 0) return null
  return { set: pickKeys(after, changed), remove }
}

/** Only these keys, as far as there are any. */
export function pickKeys(values: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(values, key)).map((key) => [key, values[key]!]))
}

/** How many bytes the values take as JSON. */
export function stateBytes(values: JsonObject): number {
  const known = sizes.get(values)
  if (known !== undefined) return known
  let bytes = braces
  for (const [key, value] of Object.entries(values)) bytes += memberBytes(key, value)
  sizes.set(values, bytes)
  return bytes
}

const braces = 2
const sizes = new WeakMap<JsonObject, number>()
const utf8 = new TextEncoder()

/** Counts only what changes, so that folding a log costs as much as its events, however large the state is. */
function bytesAfter(values: JsonObject = {}, { set, remove }: StatePatch): number {
  let bytes = stateBytes(values)
  const removed = new Set(remove)
  for (const key of new Set([...Object.keys(set), ...remove])) {
    if (Object.hasOwn(values, key)) bytes -= memberBytes(key, values[key]!)
    if (Object.hasOwn(set, key) && !removed.has(key)) bytes += memberBytes(key, set[key]!)
  }
  return bytes
}

/** With its colon and its comma. */
function memberBytes(key: string, value: Json): number {
  return utf8.encode(JSON.stringify(key)).length + utf8.encode(JSON.stringify(value)).length + 2
}
