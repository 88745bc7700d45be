import type { Json, JsonObject } from '../json.ts'
import type { Evaluation } from './evaluation.ts'
import { clip } from './issues.ts'
import type { NodeBuilder, PatternTest } from './node-builder.ts'
import { isSchema, isTexts, malformed, numberIn, objectIn, schemaIn, schemaMapIn, textsIn } from './read-keyword.ts'
import type { SchemaNode } from './schema-node.ts'

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

/** `dependentRequired`, `dependentSchemas`, and `dependencies`, which was both. */
function addDependents(schema: JsonObject, node: NodeBuilder): void {
  for (const [key, names] of objectIn(schema, 'dependentRequired') ?? [])
    addDependent('dependentRequired', key, names, node)
  for (const [key, dependent] of schemaMapIn(schema, 'dependentSchemas') ?? []) {
    const then = node.inPlace(dependent)!
    node.checkType(
      'object',
      (value, evaluation, noted) => !Object.hasOwn(value as JsonObject, key) || evaluation.apply(then, value, noted),
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
        !Object.hasOwn(value as JsonObject, key) || evaluation.apply(then, value, evaluation.newNoted()),
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

/** `properties`, `patternProperties`, and `additionalProperties` for what neither of them covers. */
function addMembers(schema: JsonObject, node: NodeBuilder): void {
  const properties = schemaMapIn(schema, 'properties') ?? []
  const named = new Map(properties.map(([name, member]) => [name, node.inside(member)!]))
  const patterns = (schemaMapIn(schema, 'patternProperties') ?? []).map(
    ([source, member]): [PatternTest, SchemaNode] => [node.pattern(source), node.inside(member)!],
  )
  const additional = node.inside(schemaIn(schema, 'additionalProperties'))
  if (named.size === 0 && patterns.length === 0 && !additional) return
  node.checkType('object', (value, evaluation, noted) => {
    const { steps } = evaluation
    return every(keysOf(value, evaluation), evaluation, (key) => {
      const member = (value as JsonObject)[key]!
      let fits = true
      let isCovered = false
      const cover = (schemaOfMember: SchemaNode): void => {
        isCovered = true
        if (evaluation.applyTo(key, schemaOfMember, member)) noted?.add(key, steps)
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
  // It would leave nothing over.
  if (!rest || schema['additionalProperties'] !== undefined) return
  node.takesNotes()
  node.checkType('object', (value, evaluation, noted) =>
    every(keysOf(value, evaluation), evaluation, (key) => {
      if (noted?.has(key, evaluation.steps)) return true
      const fits = evaluation.applyTo(key, rest, (value as JsonObject)[key]!)
      if (fits) noted?.add(key, evaluation.steps)
      return fits
    }),
  )
}

function keysOf(value: Json, evaluation: Evaluation): string[] {
  const keys = Object.keys(value as JsonObject)
  evaluation.steps.take(1 + 3 * keys.length)
  return keys
}

/** Of a brief look the first that does not fit is enough. */
export function every<T>(
  items: readonly T[],
  evaluation: Evaluation,
  fits: (item: T, index: number) => boolean,
): boolean {
  let all = true
  for (let index = 0; index < items.length; index++) {
    if (fits(items[index]!, index)) continue
    all = false
    if (evaluation.isBrief) break
  }
  return all
}
