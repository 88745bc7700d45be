import type { Json, JsonObject } from '../json.ts'

/** Checking a value would take more than it may. The message is half a sentence that says what of, for `SchemaTooComplexError`. */
export class TooComplex extends Error {}

/**
 * Counts what is done for a schema. Steps, and never time: so that every node, however busy, gives up at the same place. A step stands for
 * some 50 ns of work at most, on a machine of today.
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

  /** Must be called before the work it stands for. Throws `TooComplex`. */
  take(steps: number): void {
    this.#taken += steps
    if (this.#taken > this.#limit) throw new TooComplex(`it takes more than ${this.#limit.toLocaleString('en')} steps`)
  }
}

/** To look at a text as a whole, which the machine does many characters at a time. */
export function stepsOfText(text: string): number {
  return 1 + (text.length >> 4)
}

// What is spent on a schema at most, in steps and levels. All nodes of a fleet must have the same, or one refuses what another takes.

/** To read a schema from outside, once. */
export const maxSchemaSteps = 200_000
/** To check one value. */
export const maxValueSteps = 1_000_000
/** To tell what is wrong with a value that is known not to fit; after that, what was found is told. */
export const maxIssueSteps = 100_000
/** Of a value, and of schemas that refer to each other, within each other: each takes a piece of the stack. */
export const maxLevels = 500

/** The same text for values that are equal, whatever the order of their keys, and for no others. So equality takes steps by size, not by pairs. */
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
