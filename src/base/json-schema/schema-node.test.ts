import { expect, test } from 'vitest'
import { Issues } from './issues.ts'
import { type Check, Evaluation, type SchemaNode } from './schema-node.ts'
import { StepBudget } from './step-budget.ts'

const fits: Check = () => true
const refuses: Check = (_value, evaluation) => evaluation.refuse(() => 'is wrong')
const nodeOf = (...checks: Check[]) => ({ checks, typed: {} }) as unknown as SchemaNode

/** How many steps some work takes, found by trying. */
function stepsOf(work: (evaluation: Evaluation) => unknown, { tracksEvaluated = false, isBrief = true } = {}): number {
  for (let steps = 0; ; steps++) {
    try {
      work(new Evaluation(new StepBudget(steps), tracksEvaluated, isBrief ? null : new Issues()))
      return steps
    } catch {
      // Too few.
    }
  }
}

test('applying a schema costs a step, and one for each check', () => {
  expect(stepsOf((evaluation) => evaluation.apply(nodeOf(), 1, null))).toBe(1)
  expect(stepsOf((evaluation) => evaluation.apply(nodeOf(fits, fits), 1, null))).toBe(3)
})

test('noting what was looked at costs five steps, and nothing where no schema asks for it', () => {
  expect(stepsOf((evaluation) => evaluation.newEvaluated(), { tracksEvaluated: true })).toBe(5)
  expect(stepsOf((evaluation) => expect(evaluation.newEvaluated()).toBe(null))).toBe(0)
})

test('telling of something costs a hundred steps and one for each level above it; a brief look tells nothing', () => {
  const apply = (evaluation: Evaluation) => evaluation.apply(nodeOf(refuses), 1, null)
  expect(stepsOf(apply, { isBrief: false })).toBe(102)
  expect(stepsOf(apply)).toBe(2)
  const inside = (evaluation: Evaluation) => evaluation.applyTo('a', nodeOf(refuses), 1)
  expect(stepsOf(inside, { isBrief: false })).toBe(103)
})

test('a brief look ends at the first thing that does not fit, a close one goes on', () => {
  const seen: number[] = []
  const node = nodeOf(refuses, () => seen.push(1) > 0)
  expect(new Evaluation(new StepBudget(999), false, null).apply(node, 1, null)).toBe(false)
  expect(seen).toEqual([])
  const issues = new Issues()
  const close = new Evaluation(new StepBudget(999), false, issues)
  expect([close.isBrief, close.apply(node, 1, null), seen.length, issues.count]).toEqual([false, false, 1, 1])
})

test('checks for values of one type follow those for every value, and a brief look stops before them', () => {
  const seen: string[] = []
  const seeing =
    (what: string, fits: boolean): Check =>
    () => {
      seen.push(what)
      return fits
    }
  const node = (isFit: boolean, isTypedFit: boolean): SchemaNode => ({
    checks: [seeing('every', isFit)],
    typed: { number: [seeing('number', isTypedFit)], string: [seeing('string', false)] },
    inPlace: [],
  })
  const applied = (schema: SchemaNode, issues: Issues | null) => {
    seen.length = 0
    const isFit = new Evaluation(new StepBudget(3), false, issues).apply(schema, 1, null)
    return [isFit, ...seen]
  }
  for (const issues of [null, new Issues()]) {
    expect(applied(node(true, true), issues)).toEqual([true, 'every', 'number'])
    expect(applied(node(true, false), issues)).toEqual([false, 'every', 'number'])
  }
  expect(applied(node(false, true), null)).toEqual([false, 'every'])
  expect(applied(node(false, true), new Issues())).toEqual([false, 'every', 'number'])
  expect(stepsOf((evaluation) => evaluation.apply(node(true, true), 1, null))).toBe(3)
  expect(stepsOf((evaluation) => evaluation.apply(node(true, true), null, null))).toBe(2)
})

test('where only the answer is asked for nothing is told, and afterwards it is again', () => {
  const issues = new Issues()
  const evaluation = new Evaluation(new StepBudget(9_999), false, issues)
  expect(evaluation.test(nodeOf(refuses), 1, null)).toBe(false)
  expect(issues.count).toBe(0)
  evaluation.apply(nodeOf(refuses), 1, null)
  expect(issues.count).toBe(1)
})

test('what alternatives say is taken back when one fits, and told after why when none does', () => {
  const issues = new Issues()
  const evaluation = new Evaluation(new StepBudget(9_999), false, issues)
  const tried = (isFit: boolean) =>
    evaluation.alternatives(
      () => {
        evaluation.refuse(() => 'is no number')
        return isFit
      },
      () => 'fits none',
    )
  expect([tried(true), issues.count]).toEqual([true, 0])
  expect([tried(false), issues.count]).toEqual([false, 2])
  expect(issues.text(false)).toMatch(/fits none.*is no number/s)
})

test('schemas within each other are applied up to five hundred levels deep', () => {
  const nested = (levels: number): SchemaNode =>
    levels === 0
      ? nodeOf()
      : nodeOf((value, evaluation, evaluated) => evaluation.apply(nested(levels - 1), value, evaluated))
  const deep = (levels: number) => new Evaluation(new StepBudget(9_999), false, null).apply(nested(levels), 1, null)
  expect(deep(499)).toBe(true)
  expect(() => deep(500)).toThrow('deeper than 500 levels')
})
