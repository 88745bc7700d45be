import type { Json } from '../json.ts'
import type { Issues } from './issues.ts'
import { type Check, EvaluatedParts, type SchemaNode, typeOf } from './schema-node.ts'
import { maxLevels, type StepBudget, TooComplex } from './step-budget.ts'

const stepsPerRecord = 5
/** High, because the same issues may be formatted repeatedly while alternatives are discarded. */
const stepsPerIssue = 100

/** One pass of a schema over a value. Without `issues` it stops at the first mismatch; with them it collects all. */
export class Evaluation {
  readonly steps: StepBudget
  /** Whether some schema needs to know which parts others have evaluated. */
  readonly #tracksEvaluated: boolean
  #issues: Issues | null
  readonly #path: (string | number)[] = []
  #level = 0

  constructor(steps: StepBudget, tracksEvaluated: boolean, issues: Issues | null) {
    this.steps = steps
    this.#tracksEvaluated = tracksEvaluated
    this.#issues = issues
  }

  /** Whether the first mismatch decides, or the first alternative that fits. */
  get isBrief(): boolean {
    return this.#issues === null
  }

  /**
   * For a value that no schema has evaluated yet, or for an alternative that starts from what was evaluated `before`.
   */
  newEvaluated(before: EvaluatedParts | null = null): EvaluatedParts | null {
    if (!this.#tracksEvaluated) return null
    this.steps.take(stepsPerRecord)
    return new EvaluatedParts(before)
  }

  /** Applies a schema. Throws `TooComplex`. */
  apply(node: SchemaNode, value: Json, evaluated: EvaluatedParts | null): boolean {
    const typed = node.typed[typeOf(value)]
    this.steps.take(1 + node.checks.length + (typed?.length ?? 0))
    if (++this.#level > maxLevels)
      throw new TooComplex(`schemas apply within each other, deeper than ${maxLevels} levels`)
    let fits = this.#all(node.checks, value, evaluated)
    if (typed && (fits || this.#issues)) fits = this.#all(typed, value, evaluated) && fits
    this.#level -= 1
    return fits
  }

  #all(checks: readonly Check[], value: Json, evaluated: EvaluatedParts | null): boolean {
    let fits = true
    for (const check of checks) {
      if (check(value, this, evaluated)) continue
      if (!this.#issues) return false
      fits = false
    }
    return fits
  }

  /** Applies a schema to a member or item of the value. */
  applyTo(key: string | number, node: SchemaNode, member: Json): boolean {
    this.#path.push(key)
    const fits = this.apply(node, member, this.newEvaluated())
    this.#path.pop()
    return fits
  }

  /** Applies a schema for its result only, without its issues. */
  test(node: SchemaNode, value: Json, evaluated: EvaluatedParts | null): boolean {
    const issues = this.#issues
    this.#issues = null
    const fits = this.apply(node, value, evaluated)
    this.#issues = issues
    return fits
  }

  /** Always false. `why` follows the path of the value. */
  refuse(why: () => string): false {
    if (this.#issues) {
      this.steps.take(stepsPerIssue + this.#path.length)
      this.#issues.add(this.#path, why)
    }
    return false
  }

  /** Reports the issues of alternatives, after `why`, only if `apply` returns false. */
  alternatives(apply: () => boolean, why: () => string): boolean {
    const count = this.#issues?.count ?? 0
    const fits = apply()
    if (fits || !this.#issues) {
      this.#issues?.truncate(count)
      return fits
    }
    this.steps.take(stepsPerIssue + this.#path.length)
    this.#issues.insert(count, this.#path, why)
    return false
  }
}
