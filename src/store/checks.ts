import { readGiven, shown } from '../base/errors/read-given.ts'
import { InvalidArgumentError, InvalidIdError } from '../base/errors/store-errors.ts'
import { quarantineHolder } from './claim.ts'

const maxIdBytes = 255
/** A hundred years: longer is a mistake in the unit. */
const maxDurationMs = 3_155_760_000_000

/** Ids, keys, tenants, holders: what is compared and indexed as it is. */
export function checkId(name: string, value: unknown): asserts value is string {
  if (typeof value !== 'string')
    throw new InvalidIdError(name, `is a ${value === null ? 'null' : typeof value}, not a string`)
  if (value === '') throw new InvalidIdError(name, 'is empty')
  if (!value.isWellFormed()) throw new InvalidIdError(name, 'has a lone surrogate')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(value)) throw new InvalidIdError(name, 'has a control character')
  const bytes = value.length * 3 <= maxIdBytes ? 0 : Buffer.byteLength(value)
  if (bytes > maxIdBytes) throw new InvalidIdError(name, `has ${bytes} bytes`)
}

/** The same for what is made now and named in addresses. Those that are there already, under whatever id, go on. */
export function checkNewId(name: string, value: unknown): asserts value is string {
  checkId(name, value)
  if (isDotSegment(value)) throw new InvalidIdError(name, `is '${value}', which no path of a URL can hold`)
}

/** Steps of a path: whoever reads a URL takes them out, however they are encoded. */
export function isDotSegment(id: string): boolean {
  return id === '.' || id === '..'
}

/** Who has a lease. */
export function checkHolder(holder: unknown): asserts holder is string {
  checkId('holder', holder)
  if (holder === quarantineHolder)
    throw new InvalidArgumentError('holder', `must not be '${holder}', which stands for nobody`)
}

/** Whether a claim may take what has lapses. */
export function checkSuspects(suspects: unknown): asserts suspects is boolean | undefined {
  if (suspects !== undefined && typeof suspects !== 'boolean')
    throw new InvalidArgumentError('suspects', 'must be true or false')
}

export function checkWhole(name: string, value: unknown, min: number): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < min) {
    throw new InvalidArgumentError(name, `must be a whole number of at least ${min}, not ${shown(value)}`)
  }
}

export function checkDuration(name: string, value: unknown, min = 1): asserts value is number {
  checkWhole(name, value, min)
  if (value > maxDurationMs)
    throw new InvalidArgumentError(name, `must be at most ${maxDurationMs} ms (a hundred years), not ${value}`)
}

export function checkOneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): asserts value is T {
  if (!allowed.includes(value as T)) {
    throw new InvalidArgumentError(name, `must be one of ${allowed.join(', ')}, not ${shown(value)}`)
  }
}

/** More than anybody has, and few enough to be looked at one by one: a list with holes may be longer than memory. */
const mostItems = 100_000

/** A copy of a list, with undefined where it has holes: most methods of lists pass over them. */
export function readList<T>(name: string, given: readonly T[]): T[] {
  return readGiven(name, () => {
    if (!Array.isArray(given)) throw new InvalidArgumentError(name, 'must be a list')
    const { length } = given
    if (length > mostItems) throw new InvalidArgumentError(name, `has ${length} items; the limit is ${mostItems}`)
    return [...given]
  })
}

export const maxEventBytes = 1024 * 1024
/** A fork gives the open calls of an event other ids, which may be longer. */
export const maxStoredEventBytes = maxEventBytes + 64 * 1024
