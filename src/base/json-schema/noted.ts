import type { StepBudget } from './step-budget.ts'

const stepsPerKey = 4

/**
 * The properties and items of one value that some schema has looked at: what `unevaluatedProperties` and `unevaluatedItems` leave alone. An alternative
 * notes for itself, sees what was noted before it, and what it noted counts when it fits.
 */
export class Noted {
  readonly #keys = new Set<string | number>()
  readonly #before: Noted | null

  constructor(before: Noted | null) {
    this.#before = before
  }

  add(key: string | number, steps: StepBudget): void {
    steps.take(stepsPerKey)
    this.#keys.add(key)
  }

  has(key: string | number, steps: StepBudget): boolean {
    for (let noted: Noted | null = this; noted; noted = noted.#before) {
      steps.take(stepsPerKey)
      if (noted.#keys.has(key)) return true
    }
    return false
  }

  addAll(other: Noted, steps: StepBudget): void {
    steps.take(1 + stepsPerKey * other.#keys.size)
    for (const key of other.#keys) this.#keys.add(key)
  }
}
