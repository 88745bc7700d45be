import type { JsonObject } from '../json.ts'
import { addArrayKeywords } from './array-keywords.ts'
import { maxSchemaSteps } from './limits.ts'
import { addLogicKeywords } from './logic-keywords.ts'
import { NodeBuilder, type PatternTest, type Reading } from './node-builder.ts'
import { addObjectKeywords } from './object-keywords.ts'
import { LinearPattern } from './pattern/linear-pattern.ts'
import { isObject, MalformedSchema, type Schema, textIn } from './read-keyword.ts'
import { References, type Resource, resourceAt } from './references.ts'
import { addScalarKeywords } from './scalar-keywords.ts'
import { anything, type Check, newNode, nothing, type SchemaNode } from './schema-node.ts'
import { StepBudget, stepsOfText } from './step-budget.ts'
import { addValueKeywords } from './value-keywords.ts'

/**
 * Where a schema comes from. `code`: the application's own, written by its developers. `outside`: anything else, a log included. Schemas from outside are
 * read within a budget, and their patterns run on an engine whose steps are counted; those of code keep the regular expressions of JavaScript.
 */
export type SchemaOrigin = 'code' | 'outside'

export type CompiledSchema = {
  readonly root: SchemaNode
  /** Some schema in it asks for what others have not looked at. */
  readonly takesNotes: boolean
  /** References to nothing. They throw when a value reaches them. */
  readonly unresolved: readonly string[]
}

/** Reads a schema: what is reachable from its root. Throws `MalformedSchema`, and `TooComplex` for one from outside. */
export function compileSchema(schema: Schema, origin: SchemaOrigin): CompiledSchema {
  return new SchemaCompiler(schema, origin).compile()
}

class SchemaCompiler implements Reading {
  readonly steps: StepBudget
  readonly #origin: SchemaOrigin
  readonly #references: References
  readonly #isOld: boolean
  readonly #nodes = new Map<Schema, SchemaNode>()
  readonly #patterns = new Map<string, PatternTest>()
  readonly #waiting: { readonly schema: JsonObject; readonly resource: Resource; readonly node: SchemaNode }[] = []
  readonly #unresolved: string[] = []
  #takesNotes = false

  constructor(schema: Schema, origin: SchemaOrigin) {
    this.#origin = origin
    this.steps = new StepBudget(origin === 'code' ? Infinity : maxSchemaSteps)
    this.#references = new References(schema, this.steps)
    // Drafts up to 7 ignore what stands beside a `$ref`.
    this.#isOld = isObject(schema) && /draft-0[467]/.test(String(schema['$schema']))
  }

  compile(): CompiledSchema {
    const { schema, resource } = this.#references.whole
    const root = this.nodeOf(schema, resource)
    // Schemas wait in line instead of within each other, so that none is too deep.
    for (let next = this.#waiting.pop(); next; next = this.#waiting.pop()) {
      this.#fill(next.node, next.schema, resourceAt(next.schema, next.resource))
    }
    return { root, takesNotes: this.#takesNotes, unresolved: this.#unresolved }
  }

  nodeOf(schema: Schema, resource: Resource): SchemaNode {
    if (typeof schema === 'boolean') {
      this.steps.take(1)
      return schema ? anything : nothing
    }
    const known = this.#nodes.get(schema)
    if (known) return known
    this.steps.take(stepsPerNode)
    const node = newNode()
    this.#nodes.set(schema, node)
    this.#waiting.push({ schema, resource, node })
    return node
  }

  pattern(source: string): PatternTest {
    const known = this.#patterns.get(source)
    if (known) return known
    const test = this.#origin === 'code' ? nativePattern(source) : linearPattern(source, this.steps)
    this.#patterns.set(source, test)
    return test
  }

  takesNotes(): void {
    this.#takesNotes = true
  }

  #fill(node: SchemaNode, schema: JsonObject, resource: Resource): void {
    this.steps.take(Object.keys(schema).length)
    for (const keyword of ['$recursiveRef', '$ref']) {
      const reference = textIn(schema, keyword)
      if (reference === undefined) continue
      node.checks.push(this.#reference(reference, resource, node))
      if (this.#isOld) return
    }
    const builder = new NodeBuilder(node, resource, this)
    for (const add of keywords) add(schema, builder)
  }

  #reference(reference: string, resource: Resource, node: SchemaNode): Check {
    const found = this.#references.find(reference, resource)
    if (!found) {
      this.#unresolved.push(reference)
      return () => {
        throw new MalformedSchema(`'${reference}' refers to nothing`)
      }
    }
    const target = this.nodeOf(found.schema, found.resource)
    node.inPlace.push(target)
    return (value, evaluation, noted) => evaluation.apply(target, value, noted)
  }
}

const stepsPerNode = 50
const keywords = [addValueKeywords, addLogicKeywords, addObjectKeywords, addArrayKeywords, addScalarKeywords]

function nativePattern(source: string): PatternTest {
  const expression = patternOf(source, () => new RegExp(source, 'u'))
  return (text, steps) => {
    steps.take(stepsOfText(text))
    return expression.test(text)
  }
}

function linearPattern(source: string, steps: StepBudget): PatternTest {
  const pattern = patternOf(source, () => new LinearPattern(source, steps))
  return (text, stepsOfTest) => pattern.test(text, stepsOfTest)
}

function patternOf<T>(source: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof SyntaxError) throw new MalformedSchema(`'${source.slice(0, 60)}' is not a regular expression`)
    throw error
  }
}
