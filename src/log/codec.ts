import { InvalidValueError } from '../base/errors/log-errors.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { thrownText } from '../base/errors/read-options.ts'
import type { Json } from '../base/json.ts'
import { sha256 } from '../base/sha256.ts'

const maxDepth = 500

/**
 * Encodes a value as JSON text that decodes to exactly the same value, including -0, lone surrogates, NUL and `__proto__` keys.
 * Throws `InvalidValueError` with the path of the first value that JSON cannot hold; `path` names the root.
 */
export function encode(value: unknown, path = 'value'): string {
  try {
    switch (inspect(value, 0)) {
      case 'plain':
        return JSON.stringify(value)
      case 'negative_zero':
        return write(value as Json)
      case 'refused':
        throw locate(value, path, 0, new Set()) ?? unreadable(path, 'it changes while it is read')
    }
  } catch (error) {
    // A getter or a proxy of the caller has thrown.
    throw PerdureError.isInstance(error) ? error : unreadable(path, thrownText(error))
  }
}

function unreadable(path: string, why: string): InvalidValueError {
  return new InvalidValueError(path, `it cannot be read: ${why}`)
}

/** Whether `encode` accepts the value. */
export function canEncode(value: unknown): boolean {
  try {
    return inspect(value, 0) !== 'refused'
  } catch {
    return false
  }
}

/** Decodes text that `encode` wrote. */
export function decode(text: string): Json {
  return JSON.parse(text) as Json
}

/** `negative_zero`: valid JSON, but `JSON.stringify` would turn a -0 into 0. Fast, because it runs on everything that is stored. */
function inspect(value: unknown, depth: number): 'plain' | 'negative_zero' | 'refused' {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return 'plain'
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return 'refused'
    return value === 0 && Object.is(value, -0) ? 'negative_zero' : 'plain'
  }
  if (typeof value !== 'object' || depth >= maxDepth) return 'refused'
  let verdict: 'plain' | 'negative_zero' = 'plain'
  if (!Array.isArray(value) && !isPlainObject(value)) return 'refused'
  const keys = Array.isArray(value) ? null : Object.keys(value)
  const length = keys ? keys.length : (value as unknown[]).length
  for (let index = 0; index < length; index++) {
    const member = (value as Record<string | number, unknown>)[keys ? keys[index]! : index]
    const inner = inspect(member, depth + 1)
    if (inner === 'refused') return 'refused'
    if (inner === 'negative_zero') verdict = 'negative_zero'
  }
  return verdict
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.getOwnPropertySymbols(value).length === 0
}

/** Finds the value that `inspect` refused. */
function locate(value: unknown, path: string, depth: number, ancestors: Set<object>): InvalidValueError | null {
  if (typeof value === 'number' && !Number.isFinite(value))
    return new InvalidValueError(path, `${value} is not a JSON number`)
  if (['string', 'boolean', 'number'].includes(typeof value) || value === null) return null
  if (typeof value !== 'object') return new InvalidValueError(path, `${typeof value} is not JSON`)
  if (ancestors.has(value)) return new InvalidValueError(path, 'it contains itself')
  if (depth >= maxDepth) return new InvalidValueError(path, `it is nested deeper than ${maxDepth} levels`)
  if (!Array.isArray(value) && !isPlainObject(value)) {
    return new InvalidValueError(path, `a ${value.constructor?.name ?? 'class instance'} is not a plain object`)
  }
  ancestors.add(value)
  // One by one: a sparse array may be longer than memory.
  const keys = Array.isArray(value) ? null : Object.keys(value)
  const length = keys ? keys.length : (value as unknown[]).length
  for (let index = 0; index < length; index++) {
    const key = keys ? keys[index]! : index
    const memberPath = keys ? `${path}.${key}` : `${path}[${key}]`
    const problem = locate((value as Record<string | number, unknown>)[key], memberPath, depth + 1, ancestors)
    if (problem) return problem
  }
  ancestors.delete(value)
  return null
}

function write(value: Json): string {
  if (Object.is(value, -0)) return '-0'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`)
  return `{${members.join(',')}}`
}

/** Names the arguments that a person was shown, for an answer that must count for these alone. The same value has the same digest in every process and browser. */
export function argsDigest(args: Json): string {
  return sha256(encode(args, 'args'))
}

/** Encodes a value that may have undefined members, which are left out. Values from a log keep their exact form. */
export function jsonText(value: unknown): string {
  return encode(withoutUndefined(value))
}

/** Drops undefined members, as JSON.stringify does. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutUndefined(member)]))
}
