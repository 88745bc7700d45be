import type { Json, JsonObject } from '../json.ts'
import { addArrayKeywords, addLogicKeywords, addObjectKeywords } from './applicator-keywords.ts'
import { Evaluation } from './evaluation.ts'
import { Issues } from './issues.ts'
import { NodeBuilder, type PatternTest, type Reading } from './node-builder.ts'
import { LinearPattern } from './pattern/linear-pattern.ts'
import { isObject, MalformedSchema, type Schema, textIn } from './read-keyword.ts'
import { References, type Resource, resourceAt } from './references.ts'
import { anything, type Check, newNode, nothing, type SchemaNode } from './schema-node.ts'
import { maxIssueSteps, maxSchemaSteps, maxValueSteps, StepBudget, stepsOfText, TooComplex } from './step-budget.ts'
import { addScalarKeywords, addValueKeywords } from './value-keywords.ts'

/**
 * Where a schema comes from. `code`: the application's own, written by its developers. `outside`: anything else, a log included. Schemas from outside are
 * read within a budget, and their patterns run on an engine whose steps are counted; those of code keep the regular expressions of JavaScript.
 */
export type SchemaOrigin = 'code' | 'outside'

type CompiledSchema = {
  readonly root: SchemaNode
  /** Some schema in it asks for what others have not looked at. */
  readonly takesNotes: boolean
  /** References to nothing. They throw when a value reaches them. */
  readonly unresolved: readonly string[]
}

/** Reads a schema: what is reachable from its root. Throws `MalformedSchema`, and `TooComplex` for one from outside. */
function compileSchema(schema: Schema, origin: SchemaOrigin): CompiledSchema {
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

/** `issues` is one line that says where and what. */
type ValueVerdict = { readonly fits: true } | { readonly fits: false; readonly issues: string }

/**
 * Checks a value against a JSON Schema of draft 7 or 2020-12. Throws `TooComplex` when that takes more steps than there are, whatever the schema and the value,
 * and `MalformedSchema` for a schema that makes no sense.
 */
export function checkValue(schema: Schema, value: Json, origin: SchemaOrigin): ValueVerdict {
  const { root, takesNotes } = compiled(schema, origin)
  const look = new Evaluation(new StepBudget(maxValueSteps), takesNotes, null)
  if (look.apply(root, value, look.newNoted())) return { fits: true }
  // It does not fit: a second look, which tells all that is wrong, as far as its steps go.
  const issues = new Issues()
  const closeLook = new Evaluation(new StepBudget(maxIssueSteps), takesNotes, issues)
  try {
    closeLook.apply(root, value, closeLook.newNoted())
    return { fits: false, issues: issues.text(false) }
  } catch (error) {
    if (error instanceof TooComplex) return { fits: false, issues: issues.text(true) }
    throw error
  }
}

/** Throws what is wrong with a schema from outside, before any value is there: `TooComplex` or `MalformedSchema`. */
export function checkOutsideSchema(schema: Schema): void {
  const { root, unresolved } = compiled(schema, 'outside')
  const [reference] = unresolved
  if (reference !== undefined) throw new MalformedSchema(`'${reference}' refers to nothing in it`)
  checkStaticCost(root)
}

const known = { code: new WeakMap<object, CompiledSchema>(), outside: new WeakMap<object, CompiledSchema>() }

function compiled(schema: Schema, origin: SchemaOrigin): CompiledSchema {
  if (typeof schema === 'boolean') return compileSchema(schema, origin)
  const found = known[origin].get(schema)
  if (found) return found
  const made = compileSchema(schema, origin)
  known[origin].set(schema, made)
  return made
}

/**
 * Throws `TooComplex` for a schema that no value could be checked against within the budget: one that applies itself to the same value without end, or so
 * many others that they are more than the steps there are. It overestimates: alternatives count as if all of them were looked at.
 */
function checkStaticCost(root: SchemaNode): void {
  const costs = new Map<SchemaNode, number>()
  const path = new Set<SchemaNode>()
  const stack: { readonly node: SchemaNode; next: number; cost: number }[] = []
  const enter = (node: SchemaNode): void => {
    if (path.has(node)) throw new TooComplex('a schema in it applies itself to the same value, without end')
    path.add(node)
    stack.push({ node, next: 0, cost: 1 })
  }
  enter(root)
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const inner = frame.node.inPlace[frame.next]
    if (!inner) {
      stack.pop()
      path.delete(frame.node)
      costs.set(frame.node, frame.cost)
      continue
    }
    const known = costs.get(inner)
    if (known === undefined) {
      enter(inner)
      continue
    }
    frame.next += 1
    frame.cost += known
    if (frame.cost > maxValueSteps) {
      throw new TooComplex(`it applies more than ${maxValueSteps.toLocaleString('en')} schemas to one value`)
    }
  }
}
