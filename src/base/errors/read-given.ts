import { PerdureError } from './perdure-error.ts'
import { InvalidArgumentError } from './store-errors.ts'

/**
 * Reads what a caller gave. Getters and proxies are code of the caller's: what they throw is refused like any argument that makes no sense. `read` must
 * only read and check, since whatever it throws is taken for the caller's.
 */
export function readGiven<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (PerdureError.isInstance(error)) throw error
    throw new InvalidArgumentError(name, `cannot be read: ${thrownText(error)}`)
  }
}

/** The named members of an object, each read once. Undefined stands for an object without any; everything else is refused. */
export function readMembers<T extends object, Name extends keyof T & string>(
  name: string,
  given: T | null | undefined,
  members: readonly Name[],
): Partial<Pick<T, Name>> {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null) {
    throw new InvalidArgumentError(name, `must be an object, not ${shown(given)}`)
  }
  return readGiven(name, () => {
    const read: Partial<Pick<T, Name>> = {}
    for (const member of members) {
      const value = given[member]
      if (value !== undefined) read[member] = value
    }
    return read
  })
}

/** A value as a message names it: short, and never by calling what belongs to it. */
export function shown(value: unknown, mostCharacters = 100): string {
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'function') return 'a function'
  const text = String(value)
  if (text.length <= mostCharacters) return text
  return `${text.slice(0, mostCharacters).toWellFormed()}… (${text.length} characters)`
}

/** What was thrown, in a few words, whatever it is. */
export function thrownText(thrown: unknown): string {
  try {
    return shown(thrown instanceof Error ? String(thrown.message) : thrown, 1_000)
  } catch {
    return 'it threw something that cannot be shown'
  }
}

/** Whatever a platform calls a signal: `AbortSignal.any` takes no other. */
export function checkSignal(name: string, value: unknown): asserts value is AbortSignal {
  const isSignal = readGiven(name, () => value instanceof AbortSignal)
  if (!isSignal) throw new InvalidArgumentError(name, `must be an AbortSignal, not ${shown(value)}`)
}

/** A problem for every key that is not among the known ones; each lists what is available. */
export function unknownKeys(attributes: unknown, known: readonly string[]): string[] {
  if (typeof attributes !== 'object' || attributes === null) return ['it must be an object']
  return Object.keys(attributes)
    .filter((key) => !known.includes(key))
    .map((key) => `unknown key '${key}' (known: ${known.join(', ')})`)
}
