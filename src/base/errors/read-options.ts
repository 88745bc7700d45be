import { PerdureError } from './perdure-error.ts'
import { InvalidArgumentError } from './store-errors.ts'

/**
 * Reads an argument. Getters and proxies run the caller's code: whatever they throw becomes an `InvalidArgumentError`.
 * `read` must only read and check, because everything it throws is blamed on the caller.
 */
export function readArgument<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (PerdureError.isInstance(error)) throw error
    throw new InvalidArgumentError(name, `cannot be read: ${thrownText(error)}`)
  }
}

/**
 * The named members of an object, each read once. Undefined reads as an empty object; anything else that is not an
 * object is refused.
 */
export function readOptions<T extends object, Name extends keyof T & string>(
  name: string,
  given: T | null | undefined,
  members: readonly Name[],
): Partial<Pick<T, Name>> {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null) {
    throw new InvalidArgumentError(name, `must be an object, not ${shown(given)}`)
  }
  return readArgument(name, () => {
    const read: Partial<Pick<T, Name>> = {}
    for (const member of members) {
      const value = given[member]
      if (value !== undefined) read[member] = value
    }
    return read
  })
}

/** The same, where every member must be one of those: what would be dropped in silence is refused. */
export function readMembers<T extends object, Name extends keyof T & string>(
  name: string,
  given: T | null,
  members: readonly Name[],
): Partial<Pick<T, Name>> {
  const read = readOptions(name, given, members)
  const [unknown] = readArgument(name, () => Object.keys(given ?? {})).filter((key) => !members.includes(key as Name))
  if (unknown === undefined) return read
  throw new InvalidArgumentError(name, `has no member '${shown(unknown)}'; leave it out (known: ${members.join(', ')})`)
}

/** A short description of a value for a message. Never calls code of the value. */
export function shown(value: unknown, maxCharacters = 100): string {
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'function') return 'a function'
  const text = String(value)
  if (text.length <= maxCharacters) return text
  return `${text.slice(0, maxCharacters).toWellFormed()}… (${text.length} characters)`
}

/** A short description of a thrown value. */
export function thrownText(thrown: unknown): string {
  try {
    return shown(thrown instanceof Error ? String(thrown.message) : thrown, 1_000)
  } catch {
    return 'it threw something that cannot be shown'
  }
}

/** `AbortSignal.any` accepts only genuine signals. */
export function checkSignal(name: string, value: unknown): asserts value is AbortSignal {
  const isSignal = readArgument(name, () => value instanceof AbortSignal)
  if (!isSignal) throw new InvalidArgumentError(name, `must be an AbortSignal, not ${shown(value)}`)
}

/** A problem for each unknown key, with the list of known ones. */
export function unknownKeys(attributes: unknown, known: readonly string[]): string[] {
  if (typeof attributes !== 'object' || attributes === null) return ['it must be an object']
  return Object.keys(attributes)
    .filter((key) => !known.includes(key))
    .map((key) => `unknown key '${key}' (known: ${known.join(', ')})`)
}

/** A problem for each number that is not whole or below its minimum. A key that is not given is fine. */
export function numberProblems(
  given: { readonly [key: string]: unknown },
  least: { readonly [key: string]: number },
): string[] {
  return Object.entries(least).flatMap(([key, min]) => {
    const value = given[key]
    if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= min)) return []
    return [`'${key}' must be a whole number of at least ${min}, not ${String(value)}`]
  })
}
