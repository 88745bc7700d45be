import type { Json, JsonObject } from '../json.ts'
import { addArrayKeywords, addLogicKeywords, addObjectKeywords } from './applicator-keywords.ts'
import { Issues } from './issues.ts'
import { LinearPattern } from './pattern/linear-pattern.ts'
import { isObject, MalformedSchema, type Schema, textIn } from './read-keyword.ts'
import { References, type Resource, resourceAt } from './references.ts'
import {
  anything,
  type Check,
  Evaluation,
  NodeBuilder,
  newNode,
  nothing,
  type PatternTest,
  type Reading,
  type SchemaNode,
} from './schema-node.ts'
import { maxIssueSteps, maxSchemaSteps, maxValueSteps, StepBudget, stepsOfText, TooComplex } from './step-budget.ts'
import { addScalarKeywords, addValueKeywords } from './value-keywords.ts'

/**
 * Where a schema comes from. `code`: written by the application's developers. `outside`: everything else, including
 * logs. Schemas from outside are compiled within a budget, and their patterns run on an engine that counts its steps.
 * Schemas from code use JavaScript's regular expressions.
 */
export type SchemaOrigin = 'code' | 'outside'

type CompiledSchema = {
  readonly root: SchemaNode
  /** Some schema needs to know which parts others have evaluated. */
  readonly tracksEvaluated: boolean
  /** References that resolve to nothing. They throw when a value reaches them. */
  readonly unresolved: readonly string[]
}

/**
 * Compiles a schema and everything reachable from its root. Throws `MalformedSchema`, and `TooComplex` for one from
 * outside.
 */
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
  #tracksEvaluated = false

  constructor(schema: Schema, origin: SchemaOrigin) {
    this.#origin = origin
    this.steps = new StepBudget(origin === 'code' ? Infinity : maxSchemaSteps)
    this.#references = new References(schema, this.steps)
    // Drafts up to 7 ignore keywords next to `$ref`.
    this.#isOld = isObject(schema) && /draft-0[467]/.test(String(schema['$schema']))
  }

  compile(): CompiledSchema {
    const { schema, resource } = this.#references.whole
    const root = this.nodeOf(schema, resource)
    // A queue instead of recursion, so that no schema is nested too deeply.
    for (let next = this.#waiting.pop(); next; next = this.#waiting.pop()) {
      this.#fill(next.node, next.schema, resourceAt(next.schema, next.resource))
    }
    return { root, tracksEvaluated: this.#tracksEvaluated, unresolved: this.#unresolved }
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

  tracksEvaluated(): void {
    this.#tracksEvaluated = true
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
    return (value, evaluation, evaluated) => evaluation.apply(target, value, evaluated)
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
 * Checks a value against a JSON Schema of draft 7 or 2020-12. Throws `TooComplex` when that takes more steps than
 * allowed, and `MalformedSchema` for an invalid schema.
 */
export function checkValue(schema: Schema, value: Json, origin: SchemaOrigin): ValueVerdict {
  const { root, tracksEvaluated } = compiled(schema, origin)
  const brief = new Evaluation(new StepBudget(maxValueSteps), tracksEvaluated, null)
  if (brief.apply(root, value, brief.newEvaluated())) return { fits: true }
  // The value does not fit. A second pass collects all issues, as far as its steps allow.
  const issues = new Issues()
  const full = new Evaluation(new StepBudget(maxIssueSteps), tracksEvaluated, issues)
  try {
    full.apply(root, value, full.newEvaluated())
    return { fits: false, issues: issues.text(false) }
  } catch (error) {
    if (error instanceof TooComplex) return { fits: false, issues: issues.text(true) }
    throw error
  }
}

/** Checks a schema from outside before there is a value. Throws `TooComplex` or `MalformedSchema`. */
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
 * Throws `TooComplex` for a schema that could not be checked within the budget for any value: one that applies itself
 * to the same value endlessly, or applies too many other schemas. It overestimates, because it counts every
 * alternative.
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
