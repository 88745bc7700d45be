import type { Json, JsonObject } from '../json.ts'
import type { Evaluation } from './evaluation.ts'
import type { NodeBuilder } from './node-builder.ts'
import { schemaIn, schemasIn } from './read-keyword.ts'
import type { EvaluatedParts, SchemaNode } from './schema-node.ts'

/** Schemas that are applied to the value itself: `not`, `anyOf`, `allOf`, `oneOf`, `if`. */
export function addLogicKeywords(schema: JsonObject, node: NodeBuilder): void {
  const not = node.inPlace(schemaIn(schema, 'not'))
  if (not) {
    node.check(
      (value, evaluation) =>
        !evaluation.answers(not, value, evaluation.newNoted()) || evaluation.refuse(() => 'fits what it must not fit'),
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
  node.check((value, evaluation, noted) => {
    const fitting: EvaluatedParts[] = []
    let fits = true
    if (anyOf) {
      fits = evaluation.alternatives(
        () => countFitting(anyOf, 1, value, evaluation, noted, fitting) > 0,
        () => 'fits none of the alternatives',
      )
    }
    if (allOf && (fits || !evaluation.isBrief)) fits = fitsAll(allOf, value, evaluation, noted, fitting) && fits
    if (oneOf && (fits || !evaluation.isBrief)) fits = fitsOne(oneOf, value, evaluation, noted, fitting) && fits
    // After all of them: none sees what another has noted.
    for (const other of fitting) noted?.addAll(other, evaluation.steps)
    return fits
  })
}

/** Of a brief look no more are counted than decide; unless something has to be noted, which each does for itself. */
function countFitting(
  options: readonly SchemaNode[],
  enough: number,
  value: Json,
  evaluation: Evaluation,
  noted: EvaluatedParts | null,
  fitting: EvaluatedParts[],
): number {
  let count = 0
  for (const option of options) {
    const own = evaluation.newNoted(noted)
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
  noted: EvaluatedParts | null,
  fitting: EvaluatedParts[],
): boolean {
  let fits = true
  for (const option of options) {
    const own = evaluation.newNoted(noted)
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
  noted: EvaluatedParts | null,
  fitting: EvaluatedParts[],
): boolean {
  let count = 0
  return evaluation.alternatives(
    () => {
      count = countFitting(options, 2, value, evaluation, noted, fitting)
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
  node.check((value, evaluation, noted) => {
    const own = evaluation.newNoted()
    const holds = evaluation.answers(condition, value, own)
    if (holds && own) noted?.addAll(own, evaluation.steps)
    const branch = holds ? then : otherwise
    return !branch || evaluation.apply(branch, value, noted)
  })
}
