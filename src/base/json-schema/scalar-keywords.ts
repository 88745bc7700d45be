import type { JsonObject } from '../json.ts'
import { formatCheck } from './formats.ts'
import { clip } from './issues.ts'
import type { NodeBuilder } from './node-builder.ts'
import { numberIn, textIn } from './read-keyword.ts'
import { type StepBudget, stepsOfText } from './step-budget.ts'

const stepsOfDivision = 25
const stepsOfFormat = 25

/** Keywords of numbers and of strings. */
export function addScalarKeywords(schema: JsonObject, node: NodeBuilder): void {
  addNumberKeywords(schema, node)
  addStringKeywords(schema, node)
}

function addNumberKeywords(schema: JsonObject, node: NodeBuilder): void {
  const bound = (keyword: string, words: string, fits: (value: number, limit: number) => boolean): void => {
    const limit = numberIn(schema, keyword)
    if (limit === undefined) return
    node.checkType(
      'number',
      (value, evaluation) => fits(value as number, limit) || evaluation.refuse(() => `must be ${words} ${limit}`),
    )
  }
  bound('minimum', 'at least', (value, limit) => value >= limit)
  bound('maximum', 'at most', (value, limit) => value <= limit)
  bound('exclusiveMinimum', 'more than', (value, limit) => value > limit)
  bound('exclusiveMaximum', 'less than', (value, limit) => value < limit)
  const divisor = numberIn(schema, 'multipleOf')
  if (divisor === undefined) return
  node.checkType(
    'number',
    (value, evaluation) =>
      isMultipleOf(value as number, divisor, evaluation.steps) ||
      evaluation.refuse(() => `must be a multiple of ${divisor}`),
  )
}

/** By their decimal digits: 0.3 is a multiple of 0.1, whatever the machine makes of it. */
function isMultipleOf(value: number, divisor: number, steps: StepBudget): boolean {
  if (!Number.isFinite(value) || !Number.isFinite(divisor) || divisor <= 0) return false
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [digits, exponent] = decimal(value)
  const [divisorDigits, divisorExponent] = decimal(divisor)
  const shift = exponent - divisorExponent
  steps.take(stepsOfDivision + (Math.abs(shift) >> 3))
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n
}

/** A number is its digits times ten to the exponent. */
function decimal(value: number): [digits: bigint, exponent: number] {
  const [coefficient = '', exponent = '0'] = Math.abs(value).toString().split('e')
  const [whole = '', fraction = ''] = coefficient.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}

function addStringKeywords(schema: JsonObject, node: NodeBuilder): void {
  const min = numberIn(schema, 'minLength')
  const max = numberIn(schema, 'maxLength')
  if (min !== undefined || max !== undefined) node.checkType('string', lengthCheck(min ?? 0, max ?? Infinity))

  const source = textIn(schema, 'pattern')
  if (source !== undefined) {
    const matches = node.pattern(source)
    node.checkType(
      'string',
      (value, evaluation) =>
        matches(value as string, evaluation.steps) || evaluation.refuse(() => `must match the pattern ${clip(source)}`),
    )
  }
  const format = textIn(schema, 'format')
  const check = format === undefined ? undefined : formatCheck(format)
  if (!check) return
  node.checkType('string', (value, evaluation) => {
    evaluation.steps.take(stepsOfFormat + 2 * stepsOfText(value as string))
    return check(value as string, evaluation.steps) || evaluation.refuse(() => `is not of the format ${format}`)
  })
}

function lengthCheck(min: number, max: number): Parameters<NodeBuilder['checkType']>[1] {
  return (value, evaluation) => {
    evaluation.steps.take(2 * stepsOfText(value as string))
    const length = characters(value as string)
    if (length < min) return evaluation.refuse(() => `must have at least ${min} characters, not ${length}`)
    if (length > max) return evaluation.refuse(() => `must have at most ${max} characters, not ${length}`)
    return true
  }
}

/** Of whole characters, and not of the halves that some are stored as. */
function characters(text: string): number {
  let count = text.length
  for (let index = 0; index + 1 < text.length; index++) {
    if (text.codePointAt(index)! > 0xffff) {
      count -= 1
      index += 1
    }
  }
  return count
}
