import { describe, expect, test } from 'vitest'
import { type ToolTurn, toolTurns } from '../../../test/context/tool-turns.ts'
import type { ConversationState } from '../../log/state.ts'
import { estimateTokens } from './count-tokens.ts'
import { type PlanInput, PromptSize, planSummary, TurnSizes } from './prompt-size.ts'
import { noReduction, reduce, visibleTurns } from './reduce.ts'

const many = (count: number, turn: ToolTurn = {}): ToolTurn[] =>
  Array.from({ length: count }, (_, n) => ({ ...turn, isOpen: n === count - 1 }))

function inputFor(state: ConversationState, budget: number, more: Partial<PlanInput> = {}): PlanInput {
  const size = new PromptSize(estimateTokens, { provider: 'test', modelId: 'one' }, 0, new TurnSizes())
  return {
    state,
    reduction: noReduction,
    latest: null,
    settings: { windowTurns: 40, retention: 'never' },
    tools: new Map(),
    limits: { budget, target: budget * 0.6 },
    count: (reduction) => size.of(state, reduction),
    size,
    factor: 1,
    isSummarised: true,
    ...more,
  }
}

/** A budget of which the state takes such a share. */
function filled(state: ConversationState, share: number, more: Partial<PlanInput> = {}): PlanInput {
  return inputFor(state, Math.floor(inputFor(state, 1).count(noReduction) / share), more)
}

const namesOf = (input: PlanInput) => planSummary(input).map((turn) => turn.turnId)

describe('the turns to sum up', () => {
  test('are none while there is room', () => {
    expect(namesOf(filled(toolTurns(many(30)), 0.7))).toEqual([])
  })

  test('cost one count of the prompt while there is room', () => {
    let counts = 0
    const input = filled(toolTurns(many(30)), 0.7)
    const count: PlanInput['count'] = (reduction) => {
      counts += 1
      return input.count(reduction)
    }
    expect([namesOf({ ...input, count }), counts]).toEqual([[], 1])
  })

  test('are the oldest, so many that what is left is at the target once the budget is full', () => {
    const state = toolTurns(many(30))
    const input = filled(state, 0.85)
    const span = planSummary(input)
    expect(span[0]).toBe(state.turns[0])
    expect(span).toEqual(state.turns.slice(0, span.length))
    const latest = { toSeq: span.at(-1)!.end!.seq, version: 1, text: 'word '.repeat(input.limits.budget * 0.1) }
    // The budget fills up, and the reduction comes.
    const fuller = toolTurns(many(Math.ceil(30 / 0.85) + 1))
    const then = { ...input, ...inputFor(fuller, input.limits.budget, { latest }) }
    expect(then.count(noReduction)).toBeGreaterThan(input.limits.budget)
    const reduced = reduce(then)
    expect(reduced).toMatchObject({ summary: latest, windowFrom: 0 })
    expect(then.count(reduced)).toBeLessThanOrEqual(input.limits.target)
  })

  test('are none where stubs for old results will do', () => {
    const settings = { windowTurns: 40, retention: { mode: 'age' as const, value: 2 } }
    expect(namesOf(filled(toolTurns(many(12, { tokens: 400 })), 0.9, { settings }))).toEqual([])
  })

  test('go on from where the newest summary ends, whether it is shown or not', () => {
    const state = toolTurns(many(30))
    const latest = { toSeq: state.turns[2]!.end!.seq, version: 1, text: 'three turns' }
    expect(namesOf(filled(state, 0.9, { latest }))[0]).toBe('t4')
  })

  test('are those that the window left behind, at once', () => {
    const state = toolTurns(many(10))
    const reduction = { ...noReduction, windowFrom: state.turns[4]!.firstSeq }
    expect(namesOf(inputFor(state, 100_000, { reduction }))).toEqual(['t1', 't2', 't3', 't4'])
  })

  test('are never the open one', () => {
    expect(namesOf(inputFor(toolTurns(many(1, { tokens: 500 })), 10))).toEqual([])
    expect(namesOf(inputFor(toolTurns(many(3, { tokens: 500 })), 10))).not.toContain('t3')
  })

  test('are those beyond the window too, once it is time', () => {
    const settings = { windowTurns: 3, retention: 'never' as const }
    expect(namesOf(filled(toolTurns(many(10)), 0.85, { settings })).length).toBeGreaterThanOrEqual(7)
  })

  test('are not more at once than a model can read', () => {
    const state = toolTurns(many(50))
    const reduction = { ...noReduction, windowFrom: state.turns[49]!.firstSeq }
    const input = inputFor(state, 200, { reduction })
    const span = planSummary(input)
    expect(span.length).toBeGreaterThan(0)
    expect(span.length).toBeLessThan(20)
  })

  test('are only those the window left behind where no model sums up', () => {
    const state = toolTurns(many(30))
    expect(namesOf(filled(state, 0.95, { isSummarised: false }))).toEqual([])
    const reduction = { ...noReduction, windowFrom: state.turns[2]!.firstSeq }
    const input = inputFor(state, 100, { reduction, isSummarised: false })
    expect(planSummary(input)).toEqual(
      state.turns.filter((turn) => !visibleTurns(state.turns, reduction).includes(turn)),
    )
  })
})
