import type { Json } from '../base/json.ts'
import { errorText } from '../base/redact/redactor.ts'
import { encode } from '../log/codec.ts'
import type { CallResult, InterruptedEnd } from '../log/events.ts'
import { maxEventBytes } from '../store/checks.ts'

/** Below the codec's limit, so that the surrounding event fits too. */
const maxDepth = 400

/**
 * The result of a tool as it is recorded: undefined becomes null, undefined members are dropped, `toJSON` is applied. A
 * value that is not JSON or is too large ends the call with `ran`: it took effect, but its result is lost. Never
 * throws.
 */
export function normaliseResult(returned: unknown): CallResult & { readonly outcome?: InterruptedEnd } {
  const normalised = normaliseValue(returned)
  if (normalised.ok) return { ok: true, result: normalised.value }
  return { ok: false, error: `the tool ran, but its result cannot be recorded: ${normalised.problem}`, outcome: 'ran' }
}

export type Normalised = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string }

export function normaliseValue(value: unknown): Normalised {
  try {
    const normalised = toJson(value, { path: 'result', key: '', ancestors: [] }) ?? null
    const bytes = Buffer.byteLength(encode(normalised))
    if (bytes > maxResultBytes) throw new Refused(`it has ${bytes} bytes; the limit is ${maxResultBytes}`)
    return { ok: true, value: normalised }
  } catch (error) {
    return { ok: false, problem: errorText(error) }
  }
}

class Refused extends Error {}

type Place = { readonly path: string; readonly key: string; readonly ancestors: readonly object[] }

/** Undefined for undefined. */
function toJson(value: unknown, place: Place): Json | undefined {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
    case 'string':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Refused(`${place.path} is ${value}, which is not a JSON number`)
      return value
    case 'object':
      return value === null ? null : objectToJson(value, place)
    default:
      throw new Refused(`${place.path} is a ${typeof value}`)
  }
}

function objectToJson(value: object, { path, key, ancestors }: Place): Json | undefined {
  if (ancestors.includes(value)) throw new Refused(`${path} contains itself`)
  if (ancestors.length >= maxDepth) throw new Refused(`it is nested deeper than ${maxDepth} levels`)
  const inside = [...ancestors, value]
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    return toJson(value.toJSON(key), { path, key, ancestors: inside })
  }
  if (Array.isArray(value)) return arrayToJson(value, path, inside)
  // The members of maps, sets, promises, errors and buffers do not represent their content.
  const tag = Object.prototype.toString.call(value)
  if (tag !== '[object Object]') throw new Refused(`${path} is a ${tag.slice(8, -1)}, which is not JSON`)
  const members = Object.entries(value).flatMap(([name, member]): [string, Json][] => {
    const json = toJson(member, { path: `${path}.${name}`, key: name, ancestors: inside })
    return json === undefined ? [] : [[name, json]]
  })
  return Object.fromEntries(members)
}

function arrayToJson(values: readonly unknown[], path: string, ancestors: readonly object[]): Json {
  // Checked before iterating: a sparse array can be longer than memory.
  if (values.length * 2 > maxResultBytes) throw new Refused(`${path} has ${values.length} members`)
  return Array.from(values, (member, index) => {
    const key = String(index)
    return toJson(member, { path: `${path}[${key}]`, key, ancestors }) ?? null
  })
}

// Limits for the events of one call, so that each stays below the size limit of an event.

/** Counted twice in one event: before and after an edit. */
export const maxArgsBytes = 480 * 1024
/** The JSON Schema of an answer. */
export const maxSchemaBytes = 256 * 1024
export const maxPromptBytes = 64 * 1024
const maxResultBytes = maxEventBytes - 4_096
