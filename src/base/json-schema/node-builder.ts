import type { Schema } from './read-keyword.ts'
import type { Resource } from './references.ts'
import type { Check, JsonType, SchemaNode } from './schema-node.ts'
import type { StepBudget } from './step-budget.ts'

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
