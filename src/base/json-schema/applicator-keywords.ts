import type { Json, JsonObject } from '../json.ts'
import { clip } from './issues.ts'
import {
  isSchema,
  isTexts,
  malformed,
  numberIn,
  objectIn,
  schemaIn,
  schemaMapIn,
  schemasIn,
  textsIn,
} from './read-keyword.ts'
import type { EvaluatedParts, Evaluation, NodeBuilder, PatternTest, SchemaNode } from './schema-node.ts'
import { canonicalText, stepsOfText } from './step-budget.ts'

export function addObjectKeywords(schema: JsonObject, node: NodeBuilder): void {
  addRequired(schema, node)
  addCount(schema, node)
  addNames(schema, node)
  addDependents(schema, node)
  addMembers(schema, node)
  addUnevaluated(schema, node)
}

function addRequired(schema: JsonObject, node: NodeBuilder): void {
  const required = textsIn(schema, 'required')
  if (!required || required.length === 0) return
  const names = node.read(required)
  node.checkType('object', (value, evaluation) => hasAll(value, names, evaluation))
}

function hasAll(value: Json, names: readonly string[], evaluation: Evaluation, because = ''): boolean {
  evaluation.steps.take(names.length)
  let hasThem = true
  for (const name of names) {
    if (Object.hasOwn(value as JsonObject, name)) continue
    evaluation.refuse(() => `the property '${clip(name)}' is missing${because}`)
    hasThem = false
    if (evaluation.isBrief) break
  }
  return hasThem
}

function addCount(schema: JsonObject, node: NodeBuilder): void {
  const min = numberIn(schema, 'minProperties') ?? 0
  const max = numberIn(schema, 'maxProperties') ?? Infinity
  if (min <= 0 && max === Infinity) return
  node.checkType('object', (value, evaluation) => {
    const count = keysOf(value, evaluation).length
    if (count < min) return evaluation.refuse(() => `must have at least ${min} properties, not ${count}`)
    return count <= max || evaluation.refuse(() => `must have at most ${max} properties, not ${count}`)
  })
}

function addNames(schema: JsonObject, node: NodeBuilder): void {
  const names = node.inside(schemaIn(schema, 'propertyNames'))
  if (!names) return
  node.checkType('object', (value, evaluation) =>
    every(keysOf(value, evaluation), evaluation, (key) => evaluation.applyTo(key, names, key)),
  )
}

/** `dependentRequired`, `dependentSchemas`, and the older `dependencies`, which combined both. */
function addDependents(schema: JsonObject, node: NodeBuilder): void {
  for (const [key, names] of objectIn(schema, 'dependentRequired') ?? [])
    addDependent('dependentRequired', key, names, node)
  for (const [key, dependent] of schemaMapIn(schema, 'dependentSchemas') ?? []) {
    const then = node.inPlace(dependent)!
    node.checkType(
      'object',
      (value, evaluation, evaluated) =>
        !Object.hasOwn(value as JsonObject, key) || evaluation.apply(then, value, evaluated),
    )
  }
  for (const [key, dependent] of objectIn(schema, 'dependencies') ?? []) {
    if (!isSchema(dependent)) {
      addDependent('dependencies', key, dependent, node)
      continue
    }
    const then = node.inPlace(dependent)!
    node.checkType(
      'object',
      (value, evaluation) =>
        !Object.hasOwn(value as JsonObject, key) || evaluation.apply(then, value, evaluation.newEvaluated()),
    )
  }
}

function addDependent(keyword: string, key: string, needed: Json, node: NodeBuilder): void {
  if (!isTexts(needed)) throw malformed(keyword, 'an object of lists of strings')
  const names = node.read(needed)
  node.checkType(
    'object',
    (value, evaluation) =>
      !Object.hasOwn(value as JsonObject, key) || hasAll(value, names, evaluation, `, because there is '${clip(key)}'`),
  )
}

/** `properties`, `patternProperties`, and `additionalProperties` for members that neither covers. */
function addMembers(schema: JsonObject, node: NodeBuilder): void {
  const properties = schemaMapIn(schema, 'properties') ?? []
  const named = new Map(properties.map(([name, member]) => [name, node.inside(member)!]))
  const patterns = (schemaMapIn(schema, 'patternProperties') ?? []).map(
    ([source, member]): [PatternTest, SchemaNode] => [node.pattern(source), node.inside(member)!],
  )
  const additional = node.inside(schemaIn(schema, 'additionalProperties'))
  if (named.size === 0 && patterns.length === 0 && !additional) return
  node.checkType('object', (value, evaluation, evaluated) => {
    const { steps } = evaluation
    return every(keysOf(value, evaluation), evaluation, (key) => {
      const member = (value as JsonObject)[key]!
      let fits = true
      let isCovered = false
      const cover = (schemaOfMember: SchemaNode): void => {
        isCovered = true
        if (evaluation.applyTo(key, schemaOfMember, member)) evaluated?.add(key, steps)
        else fits = false
      }
      const own = named.get(key)
      if (own) cover(own)
      for (const [matches, schemaOfMember] of patterns) if (matches(key, steps)) cover(schemaOfMember)
      if (!isCovered && additional) cover(additional)
      return fits
    })
  })
}

function addUnevaluated(schema: JsonObject, node: NodeBuilder): void {
  const rest = node.inside(schemaIn(schema, 'unevaluatedProperties'))
  // `additionalProperties` already evaluates every member.
  if (!rest || schema['additionalProperties'] !== undefined) return
  node.tracksEvaluated()
  node.checkType('object', (value, evaluation, evaluated) =>
    every(keysOf(value, evaluation), evaluation, (key) => {
      if (evaluated?.has(key, evaluation.steps)) return true
      const fits = evaluation.applyTo(key, rest, (value as JsonObject)[key]!)
      if (fits) evaluated?.add(key, evaluation.steps)
      return fits
    }),
  )
}

function keysOf(value: Json, evaluation: Evaluation): string[] {
  const keys = Object.keys(value as JsonObject)
  evaluation.steps.take(1 + 3 * keys.length)
  return keys
}

/** A brief evaluation stops at the first item that does not fit. */
function every<T>(items: readonly T[], evaluation: Evaluation, fits: (item: T, index: number) => boolean): boolean {
  let all = true
  for (let index = 0; index < items.length; index++) {
    if (fits(items[index]!, index)) continue
    all = false
    if (evaluation.isBrief) break
  }
  return all
}

export function addArrayKeywords(schema: JsonObject, node: NodeBuilder): void {
  addItemCount(schema, node)
  addItems(schema, node)
  addContains(schema, node)
  addUnevaluatedItems(schema, node)
  if (schema['uniqueItems']) node.checkType('array', areUnique)
}

function addItemCount(schema: JsonObject, node: NodeBuilder): void {
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

/** The schemas of the first items by position, and of all items after them (undefined: none). */
type ItemSchemas = { readonly first: readonly SchemaNode[]; readonly rest: SchemaNode | undefined }

/** `prefixItems` and `items`, or in older drafts `items` as a list and `additionalItems`. */
function itemSchemasOf(schema: JsonObject, node: NodeBuilder): ItemSchemas {
  const isList = Array.isArray(schema['items'])
  const prefix = schemasIn(schema, 'prefixItems') ?? []
  const listed = (isList && schemasIn(schema, 'items')) || []
  const rest = isList ? schemaIn(schema, 'additionalItems') : schemaIn(schema, 'items')
  const first = [...prefix, ...listed.slice(prefix.length)]
  return { first: first.map((item) => node.inside(item)!), rest: node.inside(rest) }
}

function addItems(schema: JsonObject, node: NodeBuilder): void {
  const { first, rest } = itemSchemasOf(schema, node)
  if (first.length === 0 && !rest) return
  node.checkType('array', (value, evaluation, evaluated) => {
    const items = value as readonly Json[]
    const covered = rest ? items : items.slice(0, first.length)
    return every(covered, evaluation, (item, index) => {
      evaluated?.add(index, evaluation.steps)
      return evaluation.applyTo(index, (first[index] ?? rest)!, item)
    })
  })
}

function addContains(schema: JsonObject, node: NodeBuilder): void {
  const contained = node.inside(schemaIn(schema, 'contains'))
  const min = numberIn(schema, 'minContains') ?? 1
  const max = numberIn(schema, 'maxContains') ?? Infinity
  if (!contained) return
  node.checkType('array', (value, evaluation, evaluated) => {
    const items = value as readonly Json[]
    let count = 0
    evaluation.steps.take(items.length)
    for (const [index, item] of items.entries()) {
      if (!evaluation.test(contained, item, evaluation.newEvaluated())) continue
      count += 1
      evaluated?.add(index, evaluation.steps)
    }
    if (count < min) return evaluation.refuse(() => `must contain at least ${min} items that fit, not ${count}`)
    return count <= max || evaluation.refuse(() => `must contain at most ${max} items that fit, not ${count}`)
  })
}

function addUnevaluatedItems(schema: JsonObject, node: NodeBuilder): void {
  const rest = node.inside(schemaIn(schema, 'unevaluatedItems'))
  if (!rest) return
  node.tracksEvaluated()
  node.checkType('array', (value, evaluation, evaluated) => {
    const items = value as readonly Json[]
    evaluation.steps.take(items.length)
    return every(items, evaluation, (item, index) => {
      if (evaluated?.has(index, evaluation.steps)) return true
      evaluated?.add(index, evaluation.steps)
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

/** Schemas that are applied to the value itself: `not`, `anyOf`, `allOf`, `oneOf`, `if`. */
export function addLogicKeywords(schema: JsonObject, node: NodeBuilder): void {
  const not = node.inPlace(schemaIn(schema, 'not'))
  if (not) {
    node.check(
      (value, evaluation) =>
        !evaluation.test(not, value, evaluation.newEvaluated()) || evaluation.refuse(() => 'fits what it must not fit'),
    )
  }
  addAlternatives(schema, node)
  addCondition(schema, node)
}

function addAlternatives(schema: JsonObject, node: NodeBuilder): void {
  const [anyOf, allOf, oneOf] = ['anyOf', 'allOf', 'oneOf'].map((keyword) =>
    schemasIn(schema, keyword)?.map((option) => node.inPlace(option)!),
  )
  if (!anyOf && !allOf && !oneOf) return
  node.check((value, evaluation, evaluated) => {
    const fitting: EvaluatedParts[] = []
    let fits = true
    if (anyOf) {
      fits = evaluation.alternatives(
        () => countFitting(anyOf, 1, value, evaluation, evaluated, fitting) > 0,
        () => 'fits none of the alternatives',
      )
    }
    if (allOf && (fits || !evaluation.isBrief)) fits = fitsAll(allOf, value, evaluation, evaluated, fitting) && fits
    if (oneOf && (fits || !evaluation.isBrief)) fits = fitsOne(oneOf, value, evaluation, evaluated, fitting) && fits
    // Added after all alternatives: none may see what another has evaluated.
    for (const other of fitting) evaluated?.addAll(other, evaluation.steps)
    return fits
  })
}

/**
 * A brief evaluation stops counting once the result is decided, unless each alternative must record what it evaluated.
 */
function countFitting(
  options: readonly SchemaNode[],
  enough: number,
  value: Json,
  evaluation: Evaluation,
  evaluated: EvaluatedParts | null,
  fitting: EvaluatedParts[],
): number {
  let count = 0
  for (const option of options) {
    const own = evaluation.newEvaluated(evaluated)
    if (!evaluation.apply(option, value, own)) continue
    count += 1
    if (own) fitting.push(own)
    else if (evaluation.isBrief && count === enough) break
  }
  return count
}

function fitsAll(
  options: readonly SchemaNode[],
  value: Json,
  evaluation: Evaluation,
  evaluated: EvaluatedParts | null,
  fitting: EvaluatedParts[],
): boolean {
  let fits = true
  for (const option of options) {
    const own = evaluation.newEvaluated(evaluated)
    if (evaluation.apply(option, value, own)) {
      if (own) fitting.push(own)
    } else {
      fits = false
      if (evaluation.isBrief) break
    }
  }
  return fits
}

function fitsOne(
  options: readonly SchemaNode[],
  value: Json,
  evaluation: Evaluation,
  evaluated: EvaluatedParts | null,
  fitting: EvaluatedParts[],
): boolean {
  let count = 0
  return evaluation.alternatives(
    () => {
      count = countFitting(options, 2, value, evaluation, evaluated, fitting)
      return count === 1
    },
    () => (count === 0 ? 'fits none of the alternatives' : `fits ${count} alternatives, and must fit exactly one`),
  )
}

function addCondition(schema: JsonObject, node: NodeBuilder): void {
  const condition = node.inPlace(schemaIn(schema, 'if'))
  if (!condition) return
  const then = node.inPlace(schemaIn(schema, 'then'))
  const otherwise = node.inPlace(schemaIn(schema, 'else'))
  node.check((value, evaluation, evaluated) => {
    const own = evaluation.newEvaluated()
    const holds = evaluation.test(condition, value, own)
    if (holds && own) evaluated?.addAll(own, evaluation.steps)
    const branch = holds ? then : otherwise
    return !branch || evaluation.apply(branch, value, evaluated)
  })
}
