import type { Json, JsonObject } from '../json.ts'

/** Checking a value would cost more than its limit. The message says of what, for use in a `SchemaTooComplexError`. */
export class TooComplex extends Error {}

/**
 * Counts the work done for a schema. It counts steps, not time, so that every node stops at the same point, however
 * busy it is. A step takes at most about 50 ns on current hardware.
 */
export class StepBudget {
  readonly #limit: number
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get taken(): number {
    return this.#taken
  }

  /** Must be called before the work that it counts. Throws `TooComplex`. */
  take(steps: number): void {
    this.#taken += steps
    if (this.#taken > this.#limit) throw new TooComplex(`it takes more than ${this.#limit.toLocaleString('en')} steps`)
  }
}

/** Steps for an operation on a whole text, which processes many characters at a time. */
export function stepsOfText(text: string): number {
  return 1 + (text.length >> 4)
}

// Limits per schema. Must be the same on all nodes of a fleet, or one node refuses what another accepts.

/** Compiling a schema from outside, once. */
export const maxSchemaSteps = 200_000
/** Checking one value. */
export const maxValueSteps = 1_000_000
/** Collecting the issues of a value that does not fit. The issues found within this limit are reported. */
export const maxIssueSteps = 100_000
/** Nesting of a value, and of schemas that apply each other. Each level uses stack. */
export const maxLevels = 500

/**
 * The same text for equal values, whatever the order of their keys, and for no others. Makes equality cost steps by
 * size, not by pairs.
 */
export function canonicalText(value: Json, steps: StepBudget): string {
  const pieces: string[] = []
  write(value, pieces, steps, 0)
  return pieces.join('')
}

function write(value: Json, pieces: string[], steps: StepBudget, level: number): void {
  if (typeof value !== 'object' || value === null) {
    steps.take(typeof value === 'string' ? 2 * stepsOfText(value) : 1)
    pieces.push(JSON.stringify(value))
    return
  }
  if (level > maxLevels) throw new TooComplex(`a value is nested deeper than ${maxLevels} levels`)
  if (Array.isArray(value)) writeList(value, pieces, steps, level)
  else writeObject(value as JsonObject, pieces, steps, level)
}

function writeList(items: readonly Json[], pieces: string[], steps: StepBudget, level: number): void {
  steps.take(5 + items.length)
  pieces.push('[')
  for (const item of items) {
    write(item, pieces, steps, level + 1)
    pieces.push(',')
  }
  pieces.push(']')
}

function writeObject(value: JsonObject, pieces: string[], steps: StepBudget, level: number): void {
  const keys = Object.keys(value)
  steps.take(10 + 6 * keys.length)
  pieces.push('{')
  for (const key of keys.sort()) {
    steps.take(stepsOfText(key))
    pieces.push(JSON.stringify(key), ':')
    write(value[key]!, pieces, steps, level + 1)
    pieces.push(',')
  }
  pieces.push('}')
}
