import type { Json } from '../json.ts'
import { type CompiledSchema, compileSchema, type SchemaOrigin } from './compile-schema.ts'
import { Evaluation } from './evaluation.ts'
import { Issues } from './issues.ts'
import { maxIssueSteps, maxValueSteps } from './limits.ts'
import { MalformedSchema, type Schema } from './read-keyword.ts'
import { checkStaticCost } from './static-cost.ts'
import { StepBudget, TooComplex } from './step-budget.ts'

/** `issues` is one line that says where and what. */
export type ValueVerdict = { readonly fits: true } | { readonly fits: false; readonly issues: string }

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
