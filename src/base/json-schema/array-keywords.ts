import type { Json, JsonObject } from '../json.ts'
import { canonicalText } from './canonical-text.ts'
import type { Evaluation } from './evaluation.ts'
import type { NodeBuilder } from './node-builder.ts'
import { every } from './object-keywords.ts'
import { numberIn, schemaIn, schemasIn } from './read-keyword.ts'
import type { SchemaNode } from './schema-node.ts'
import { stepsOfText } from './step-budget.ts'

export function addArrayKeywords(schema: JsonObject, node: NodeBuilder): void {
  addCount(schema, node)
  addItems(schema, node)
  addContains(schema, node)
  addUnevaluated(schema, node)
  if (schema['uniqueItems']) node.checkType('array', areUnique)
}

function addCount(schema: JsonObject, node: NodeBuilder): void {
  const min = numberIn(schema, 'minItems')
  const max = numberIn(schema, 'maxItems')
  if (min === undefined && max === undefined) return
  node.checkType('array', (value, evaluation) => {
    const { length } = value as readonly Json[]
    if (min !== undefined && length < min)
      return evaluation.refuse(() => `must have at least ${min} items, not ${length}`)
    if (max !== undefined && length > max)
      return evaluation.refuse(() => `must have at most ${max} items, not ${length}`)
    return true
  })
}

/** The schemas of the first items, by their place, and of all that come after; none of those where it is undefined. */
type Places = { readonly first: readonly SchemaNode[]; readonly rest: SchemaNode | undefined }

/** `prefixItems` and `items`; and before those, `items` as a list and `additionalItems`. */
function placesOf(schema: JsonObject, node: NodeBuilder): Places {
  const isList = Array.isArray(schema['items'])
  const prefix = schemasIn(schema, 'prefixItems') ?? []
  const listed = (isList && schemasIn(schema, 'items')) || []
  const rest = isList ? schemaIn(schema, 'additionalItems') : schemaIn(schema, 'items')
  const first = [...prefix, ...listed.slice(prefix.length)]
  return { first: first.map((item) => node.inside(item)!), rest: node.inside(rest) }
}

function addItems(schema: JsonObject, node: NodeBuilder): void {
  const { first, rest } = placesOf(schema, node)
  if (first.length === 0 && !rest) return
  node.checkType('array', (value, evaluation, noted) => {
    const items = value as readonly Json[]
    const covered = rest ? items : items.slice(0, first.length)
    return every(covered, evaluation, (item, index) => {
      noted?.add(index, evaluation.steps)
      return evaluation.applyTo(index, (first[index] ?? rest)!, item)
    })
  })
}

function addContains(schema: JsonObject, node: NodeBuilder): void {
  const contained = node.inside(schemaIn(schema, 'contains'))
  const min = numberIn(schema, 'minContains') ?? 1
  const max = numberIn(schema, 'maxContains') ?? Infinity
  if (!contained) return
  node.checkType('array', (value, evaluation, noted) => {
    const items = value as readonly Json[]
    let count = 0
    evaluation.steps.take(items.length)
    for (const [index, item] of items.entries()) {
      if (!evaluation.answers(contained, item, evaluation.newNoted())) continue
      count += 1
      noted?.add(index, evaluation.steps)
    }
    if (count < min) return evaluation.refuse(() => `must contain at least ${min} items that fit, not ${count}`)
    return count <= max || evaluation.refuse(() => `must contain at most ${max} items that fit, not ${count}`)
  })
}

function addUnevaluated(schema: JsonObject, node: NodeBuilder): void {
  const rest = node.inside(schemaIn(schema, 'unevaluatedItems'))
  if (!rest) return
  node.takesNotes()
  node.checkType('array', (value, evaluation, noted) => {
    const items = value as readonly Json[]
    evaluation.steps.take(items.length)
    return every(items, evaluation, (item, index) => {
      if (noted?.has(index, evaluation.steps)) return true
      noted?.add(index, evaluation.steps)
      return evaluation.applyTo(index, rest, item)
    })
  })
}

function areUnique(value: Json, evaluation: Evaluation): boolean {
  const scalars = new Map<Json, number>()
  const texts = new Map<string, number>()
  const { steps } = evaluation
  return every(value as readonly Json[], evaluation, (item, index) => {
    steps.take(typeof item === 'string' ? 8 + stepsOfText(item) : 8)
    const isScalar = typeof item !== 'object' || item === null
    const text = isScalar ? '' : canonicalText(item, steps)
    const before = isScalar ? scalars.get(item) : texts.get(text)
    if (before !== undefined) return evaluation.refuse(() => `the items ${before} and ${index} are equal`)
    if (isScalar) scalars.set(item, index)
    else texts.set(text, index)
    return true
  })
}
