import type { Json, JsonObject } from '../json.ts'
import { canonicalText } from './canonical-text.ts'
import { shown } from './issues.ts'
import type { NodeBuilder } from './node-builder.ts'
import { isTexts, listIn, malformed } from './read-keyword.ts'
import { typeOf } from './schema-node.ts'
import { stepsOfText } from './step-budget.ts'

/** `type`, `const` and `enum`: what a value is. */
export function addValueKeywords(schema: JsonObject, node: NodeBuilder): void {
  addType(schema, node)
  if (schema['const'] !== undefined) addOneOf([schema['const']], node)
  const values = listIn(schema, 'enum')
  if (values) addOneOf(values, node)
}

function addType({ type }: JsonObject, node: NodeBuilder): void {
  if (type === undefined) return
  const allowed = typeof type === 'string' ? [type] : type
  if (!isTexts(allowed)) throw malformed('type', 'a string or a list of strings')
  const types = new Set(node.read(allowed))
  node.check((value, evaluation) => {
    const found = typeOf(value)
    if (types.has(found)) return true
    if (types.has('integer') && found === 'number' && Number.isInteger(value)) return true
    return evaluation.refuse(() => `must be ${[...types].slice(0, 10).join(' or ')}, not ${found}`)
  })
}

function addOneOf(values: readonly Json[], node: NodeBuilder): void {
  const scalars = new Set<Json>()
  const texts = new Set<string>()
  for (const value of node.read(values)) {
    if (typeof value === 'object' && value !== null) texts.add(canonicalText(value, node.steps))
    else scalars.add(value)
  }
  node.check((value, evaluation) => {
    const { steps } = evaluation
    if (typeof value === 'string') steps.take(stepsOfText(value))
    const isOne =
      typeof value === 'object' && value !== null
        ? texts.size > 0 && texts.has(canonicalText(value, steps))
        : scalars.has(value)
    return isOne || evaluation.refuse(() => `must be ${values.length === 1 ? '' : 'one of '}${shownAll(values)}`)
  })
}

function shownAll(values: readonly Json[]): string {
  const [only] = values
  return values.length === 1 && only !== undefined ? shown(only) : shown(values).replace(/^\[|\]$/g, '')
}
