import type { Json } from '../json.ts'
import type { Evaluation } from './evaluation.ts'
import type { StepBudget } from './step-budget.ts'

/** A schema that has been read: what is asked of a value, in order. */
export type SchemaNode = {
  /** Of every value. */
  readonly checks: Check[]
  /** Of values of a type. */
  readonly typed: { [Type in JsonType]?: Check[] }
  /** Schemas that it applies to the same value. */
  readonly inPlace: SchemaNode[]
}

/** Whether a keyword is content with a value. Must take the steps it needs, and tell `evaluation.refuse` why not. */
export type Check = (value: Json, evaluation: Evaluation, noted: EvaluatedParts | null) => boolean

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

/** Throws for what is no JSON. */
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
 * The properties and items of one value that some schema has looked at: what `unevaluatedProperties` and `unevaluatedItems` leave alone. An alternative
 * notes for itself, sees what was noted before it, and what it noted counts when it fits.
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
    for (let noted: EvaluatedParts | null = this; noted; noted = noted.#before) {
      steps.take(stepsPerKey)
      if (noted.#keys.has(key)) return true
    }
    return false
  }

  addAll(other: EvaluatedParts, steps: StepBudget): void {
    steps.take(1 + stepsPerKey * other.#keys.size)
    for (const key of other.#keys) this.#keys.add(key)
  }
}
