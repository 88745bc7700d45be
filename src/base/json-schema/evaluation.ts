import type { Json } from '../json.ts'
import type { Issues } from './issues.ts'
import { type Check, EvaluatedParts, type SchemaNode, typeOf } from './schema-node.ts'
import { maxLevels, type StepBudget, TooComplex } from './step-budget.ts'

const stepsPerNoted = 5
/** Where alternatives are taken back, the same few may be put into words again and again. */
const stepsPerIssue = 100

/**
 * One pass of a schema over a value. Without `issues` it ends at the first thing that does not fit; with them it goes on, to tell of all.
 */
export class Evaluation {
  readonly steps: StepBudget
  /** Whether some schema asks for what others have not looked at. */
  readonly #isNoting: boolean
  #issues: Issues | null
  readonly #path: (string | number)[] = []
  #level = 0

  constructor(steps: StepBudget, isNoting: boolean, issues: Issues | null) {
    this.steps = steps
    this.#isNoting = isNoting
    this.#issues = issues
  }

  /** Whether the first thing that does not fit decides, and the first alternative that fits. */
  get isBrief(): boolean {
    return this.#issues === null
  }

  /** For a value that no schema has looked at yet, or an alternative that begins with what is noted already. */
  newNoted(before: EvaluatedParts | null = null): EvaluatedParts | null {
    if (!this.#isNoting) return null
    this.steps.take(stepsPerNoted)
    return new EvaluatedParts(before)
  }

  /** Applies a schema. Throws `TooComplex`. */
  apply(node: SchemaNode, value: Json, noted: EvaluatedParts | null): boolean {
    const typed = node.typed[typeOf(value)]
    this.steps.take(1 + node.checks.length + (typed?.length ?? 0))
    if (++this.#level > maxLevels)
      throw new TooComplex(`schemas apply within each other, deeper than ${maxLevels} levels`)
    let fits = this.#all(node.checks, value, noted)
    if (typed && (fits || this.#issues)) fits = this.#all(typed, value, noted) && fits
    this.#level -= 1
    return fits
  }

  #all(checks: readonly Check[], value: Json, noted: EvaluatedParts | null): boolean {
    let fits = true
    for (const check of checks) {
      if (check(value, this, noted)) continue
      if (!this.#issues) return false
      fits = false
    }
    return fits
  }

  /** Applies a schema to something inside the value. */
  applyTo(key: string | number, node: SchemaNode, member: Json): boolean {
    this.#path.push(key)
    const fits = this.apply(node, member, this.newNoted())
    this.#path.pop()
    return fits
  }

  /** Applies a schema whose answer is asked for, but not what it says about the value. */
  answers(node: SchemaNode, value: Json, noted: EvaluatedParts | null): boolean {
    const issues = this.#issues
    this.#issues = null
    const fits = this.apply(node, value, noted)
    this.#issues = issues
    return fits
  }

  /** Always false. `why` goes after the path of the value. */
  refuse(why: () => string): false {
    if (this.#issues) {
      this.steps.take(stepsPerIssue + this.#path.length)
      this.#issues.add(this.#path, why)
    }
    return false
  }

  /** Tells what alternatives say of the value only where `fits` is false for all of them together; after `why`. */
  alternatives(apply: () => boolean, why: () => string): boolean {
    const count = this.#issues?.count ?? 0
    const fits = apply()
    if (fits || !this.#issues) {
      this.#issues?.takeBack(count)
      return fits
    }
    this.steps.take(stepsPerIssue + this.#path.length)
    this.#issues.insert(count, this.#path, why)
    return false
  }
}
