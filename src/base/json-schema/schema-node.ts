import type { Json } from '../json.ts'
import type { Evaluation } from './evaluation.ts'
import type { StepBudget } from './step-budget.ts'

/** A compiled schema: the checks of a value, in order. */
export type SchemaNode = {
  /** For every value. */
  readonly checks: Check[]
  /** For values of one type. */
  readonly typed: { [Type in JsonType]?: Check[] }
  /** Schemas that apply to the same value. */
  readonly inPlace: SchemaNode[]
}

/** Whether a value satisfies a keyword. Must count its steps, and pass the reason for false to `evaluation.refuse`. */
export type Check = (value: Json, evaluation: Evaluation, evaluated: EvaluatedParts | null) => boolean

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

/** Throws for a value that is not JSON. */
export function typeOf(value: Json): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'object') return type
  throw new Error(`a value is ${type}, which is not JSON`)
}

export function newNode(): SchemaNode {
  return { checks: [], typed: {}, inPlace: [] }
}

export const anything: SchemaNode = newNode()
export const nothing: SchemaNode = {
  ...newNode(),
  checks: [(_, evaluation) => evaluation.refuse(() => 'is not allowed')],
}

const stepsPerKey = 4

/**
 * The properties and items of one value that some schema has evaluated. `unevaluatedProperties` and `unevaluatedItems`
 * skip them. Each alternative has its own record, sees what was evaluated before it, and its record counts only if it
 * fits.
 */
export class EvaluatedParts {
  readonly #keys = new Set<string | number>()
  readonly #before: EvaluatedParts | null

  constructor(before: EvaluatedParts | null) {
    this.#before = before
  }

  add(key: string | number, steps: StepBudget): void {
    steps.take(stepsPerKey)
    this.#keys.add(key)
  }

  has(key: string | number, steps: StepBudget): boolean {
    for (let evaluated: EvaluatedParts | null = this; evaluated; evaluated = evaluated.#before) {
      steps.take(stepsPerKey)
      if (evaluated.#keys.has(key)) return true
    }
    return false
  }

  addAll(other: EvaluatedParts, steps: StepBudget): void {
    steps.take(1 + stepsPerKey * other.#keys.size)
    for (const key of other.#keys) this.#keys.add(key)
  }
}
