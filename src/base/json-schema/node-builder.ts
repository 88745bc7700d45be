import type { Schema } from './read-keyword.ts'
import type { Resource } from './references.ts'
import type { Check, JsonType, SchemaNode } from './schema-node.ts'
import type { StepBudget } from './step-budget.ts'

/** Whether a text matches a pattern. */
export type PatternTest = (text: string, steps: StepBudget) => boolean

/** What the schemas of one document have in common while they are read. */
export type Reading = {
  readonly steps: StepBudget
  nodeOf(schema: Schema, resource: Resource): SchemaNode
  pattern(source: string): PatternTest
  /** Some keyword asks for what others have not looked at. */
  takesNotes(): void
}

/** What a keyword adds itself to when its schema is read. */
export class NodeBuilder {
  /** For reading; those for checking come with each evaluation. */
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

  /** The node of a schema that is applied to something inside the value; undefined for undefined. */
  inside(schema: Schema | undefined): SchemaNode | undefined {
    return schema === undefined ? undefined : this.#reading.nodeOf(schema, this.#resource)
  }

  /** The node of a schema that is applied to the value itself. */
  inPlace(schema: Schema | undefined): SchemaNode | undefined {
    const found = this.inside(schema)
    if (found) this.#node.inPlace.push(found)
    return found
  }

  pattern(source: string): PatternTest {
    return this.#reading.pattern(source)
  }

  /** Takes the steps it needs to read a list. */
  read<T>(list: readonly T[]): readonly T[] {
    this.steps.take(2 * list.length)
    return list
  }

  takesNotes(): void {
    this.#reading.takesNotes()
  }
}
