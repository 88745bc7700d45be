import { readGiven, shown } from '../base/errors/read-given.ts'
import { InvalidArgumentError, InvalidIdError } from '../base/errors/store-errors.ts'

/** A part of a path. Throws for what no URL can carry, and for dots, which a URL takes for steps of its own. */
export function pathPart(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidIdError(name, `is ${shown(value)}, not a string`)
  if (value === '' || value === '.' || value === '..') throw new InvalidIdError(name, `is '${value}'`)
  if (!value.isWellFormed()) throw new InvalidIdError(name, 'has a lone surrogate')
  return encodeURIComponent(value)
}

/** Options as they were given; an empty object where there are none. What is not an object has no members to send. */
export function givenOptions<T extends object>(name: string, given: T | undefined): T {
  if (given === undefined) return {} as T
  if (typeof given === 'object' && given !== null) return given
  throw new InvalidArgumentError(name, `must be an object, not ${shown(given)}`)
}

/** The JSON of a body. `make` puts it together from what the caller gave. */
export function jsonBody(make: () => unknown): string {
  return readGiven('request', () => JSON.stringify(make() ?? {}))
}

/** Adds to a URL what was asked for: numbers and text, as they are. */
export function setQuery(url: URL, query: object): void {
  for (const [name, value] of readGiven('query', () => Object.entries(query))) {
    if (value === undefined) continue
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new InvalidArgumentError(name, `must be a number or a string, not ${shown(value)}`)
    }
    url.searchParams.set(name, String(value))
  }
}
