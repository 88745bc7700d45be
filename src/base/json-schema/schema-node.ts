import type { Json } from '../json.ts'
import type { Issues } from './issues.ts'
import type { Schema } from './read-keyword.ts'
import type { Resource } from './references.ts'
import { maxLevels, type StepBudget, TooComplex } from './step-budget.ts'

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

/** Whether a text matches a pattern. */
export type PatternTest = (text: string, steps: StepBudget) => boolean

/** State shared by all schemas of one document while they are compiled. */
export type Reading = {
  readonly steps: StepBudget
  nodeOf(schema: Schema, resource: Resource): SchemaNode
  pattern(source: string): PatternTest
  /** Called when a keyword needs to know which parts others have evaluated. */
  tracksEvaluated(): void
}

/** Collects the checks of one schema from its keywords. */
export class NodeBuilder {
  /** The budget for compiling. Each evaluation has its own. */
  readonly steps: StepBudget
  readonly #node: SchemaNode
  readonly #resource: Resource
  readonly #reading: Reading

  constructor(node: SchemaNode, resource: Resource, reading: Reading) {
    this.steps = reading.steps
    this.#node = node
    this.#resource = resource
    this.#reading = reading
  }

  check(check: Check): void {
    this.#node.checks.push(check)
  }

  checkType(type: JsonType, check: Check): void {
    const { typed } = this.#node
    typed[type] ??= []
    typed[type].push(check)
  }

  /** The node of a schema that applies to a part of the value. Undefined for undefined. */
  inside(schema: Schema | undefined): SchemaNode | undefined {
    return schema === undefined ? undefined : this.#reading.nodeOf(schema, this.#resource)
  }

  /** The node of a schema that applies to the value itself. */
  inPlace(schema: Schema | undefined): SchemaNode | undefined {
    const found = this.inside(schema)
    if (found) this.#node.inPlace.push(found)
    return found
  }

  pattern(source: string): PatternTest {
    return this.#reading.pattern(source)
  }

  /** Counts the steps needed to read a list. */
  read<T>(list: readonly T[]): readonly T[] {
    this.steps.take(2 * list.length)
    return list
  }

  tracksEvaluated(): void {
    this.#reading.tracksEvaluated()
  }
}
