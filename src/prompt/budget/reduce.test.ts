import { describe, expect, test } from 'vitest'
import { generateLog } from '../../../test/context/log-generator.ts'
import { type ToolTurn, toolTurns } from '../../../test/context/tool-turns.ts'
import { seededRandom } from '../../../test/faults/harness/seeded-random.ts'
import { foldEvents } from '../../log/fold-events.ts'
import type { ConversationState } from '../../log/state.ts'
import { estimateTokens } from './count-tokens.ts'
import { PromptSize, TurnSizes } from './prompt-size.ts'
import { noReduction, type ReduceInput, reduce, visibleTurns } from './reduce.ts'

const model = { provider: 'test', modelId: 'one' }

function inputFor(state: ConversationState, budget: number, more: Partial<ReduceInput> = {}): ReduceInput {
  const size = new PromptSize(estimateTokens, model, 0, new TurnSizes())
  return {
    state,
    reduction: noReduction,
    latest: null,
    settings: { windowTurns: 40, retention: { mode: 'age', value: 2 } },
    tools: new Map(),
    limits: { budget, target: budget * 0.6 },
    count: (reduction) => size.of(state, reduction),
    ...more,
  }
}

const many = (count: number, turn: ToolTurn = {}): ToolTurn[] => Array.from({ length: count }, () => turn)
const lastOpen = (turns: ToolTurn[]): ToolTurn[] => [...turns.slice(0, -1), { ...turns.at(-1), isOpen: true }]
const visible = ({ state }: ReduceInput, reduction = noReduction) =>
  visibleTurns(state.turns, reduction).map((turn) => turn.turnId)

describe('reducing', () => {
  test('does nothing while the prompt is within the budget, up to the last token', () => {
    const input = inputFor(toolTurns(lastOpen(many(5))), 0)
    const tokens = input.count(noReduction)
    expect(reduce({ ...input, limits: { budget: tokens, target: tokens * 0.6 } })).toBe(noReduction)
    expect(reduce({ ...input, limits: { budget: tokens - 1, target: tokens * 0.6 } })).not.toBe(noReduction)
  })

  test('only stubs old results when that is enough', () => {
    const input = inputFor(toolTurns(lastOpen(many(10, { tokens: 200 }))), 2_000)
    const reduced = reduce(input)
    expect([...reduced.stubbed.keys()].toSorted()).toEqual(['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8'])
    expect(reduced).toMatchObject({ summary: null, windowFrom: 0 })
    expect(input.count(reduced)).toBeLessThanOrEqual(1_200)
  })

  test('shows the summary that is at hand before it leaves out turns', () => {
    const state = toolTurns(lastOpen(many(40)))
    const latest = { toSeq: state.turns[29]!.end!.seq, version: 1, text: 'thirty turns' }
    const input = inputFor(state, 1_400, { latest })
    const reduced = reduce(input)
    expect(reduced.summary).toBe(latest)
    expect(reduced.windowFrom).toBe(0)
    expect(visible(input, reduced)).toHaveLength(10)
  })

  test('leaves out the oldest turns where there is no summary, whole, down to the target', () => {
    const input = inputFor(toolTurns(lastOpen(many(40))), 1_400)
    const reduced = reduce(input)
    const shown = visible(input, reduced)
    expect(shown.at(-1)).toBe('t40')
    expect(shown.length).toBeLessThan(40)
    expect(input.count(reduced)).toBeLessThanOrEqual(1_400 * 0.6)
    const oneMore = { ...reduced, windowFrom: input.state.turns[40 - shown.length - 1]!.firstSeq }
    expect(input.count(oneMore)).toBeGreaterThan(1_400 * 0.6)
  })

  test('never leaves out the turn that is open, however large it is', () => {
    const alone = inputFor(toolTurns(lastOpen(many(1, { tokens: 500 }))), 10)
    expect(visible(alone, reduce(alone))).toEqual(['t1'])
    const last = inputFor(toolTurns(lastOpen(many(5, { tokens: 500 }))), 10)
    expect(visible(last, reduce(last))).toEqual(['t5'])
    for (const input of [alone, last]) {
      const { windowFrom } = reduce({ ...input, reduction: { ...noReduction, windowFrom: 1 } })
      expect(windowFrom).toBeLessThanOrEqual(input.state.turns.at(-1)!.firstSeq)
    }
  })

  test('stops at the target, and not after it', () => {
    const input = inputFor(toolTurns(lastOpen(many(20))), 900)
    const reduced = reduce(input)
    const limits = { ...input.limits, target: input.count(reduced) }
    expect(reduce({ ...input, limits })).toEqual(reduced)
  })

  test('keeps no more turns than the window has once it has to leave out some', () => {
    const settings = { windowTurns: 3, retention: 'never' as const }
    const input = inputFor(toolTurns(lastOpen(many(40))), 1_400, { settings })
    expect(visible(input, reduce(input))).toEqual(['t38', 't39', 't40'])
  })

  test('never cuts the open turn, however big it is', () => {
    const turns = [...many(5), { tokens: 5_000, isOpen: true }]
    const input = inputFor(toolTurns(turns), 500)
    const reduced = reduce(input)
    expect(visible(input, reduced)).toEqual(['t6'])
    expect(reduced.stubbed.has('c6')).toBe(false)
    // There is nothing more to leave out, so nothing moves any more.
    expect(reduce({ ...input, reduction: reduced })).toBe(reduced)
  })

  test('shows a summary at once when its turns had to be cut before it came', () => {
    const input = inputFor(toolTurns(lastOpen(many(40))), 1_400)
    const cut = reduce(input)
    const latest = { toSeq: input.state.turns[5]!.end!.seq, version: 1, text: 'six turns' }
    expect(reduce({ ...input, reduction: cut, latest })).toEqual({ ...cut, summary: latest })
  })

  test('does not show a new summary while its turns are there', () => {
    const state = toolTurns(lastOpen(many(5)))
    const latest = { toSeq: state.turns[2]!.end!.seq, version: 1, text: 'three turns' }
    expect(reduce(inputFor(state, 10_000, { latest }))).toBe(noReduction)
  })

  test('forgets the stubs of turns that are not shown any more', () => {
    const state = toolTurns(lastOpen(many(40)))
    const input = inputFor(state, 1_400)
    const shown = new Set(visible(input, reduce(input)))
    for (const callId of reduce(input).stubbed.keys()) expect(shown).toContain(callId.replace('c', 't'))
  })

  test('happens in jumps: from the budget to the target, and then not for a long while', () => {
    let reduction = noReduction
    let reductions = 0
    const budget = 2_000
    const settings = { windowTurns: 40, retention: 'never' as const }
    const tokens: number[] = []
    for (let turns = 1; turns <= 200; turns++) {
      const input = inputFor(toolTurns(lastOpen(many(turns))), budget, { reduction, settings })
      const next = reduce(input)
      if (next !== reduction) reductions += 1
      reduction = next
      tokens.push(input.count(next))
    }
    expect(Math.max(...tokens)).toBeLessThanOrEqual(budget)
    const perTurn = tokens[1]! - tokens[0]!
    expect(reductions).toBeLessThanOrEqual(Math.ceil((200 * perTurn - budget) / (0.4 * budget - perTurn)) + 1)
  })
})

test('over generated logs it is deterministic, goes only one way, and ends at the target or when nothing is left to leave out', () => {
  for (let n = 0; n < 60; n++) {
    const random = seededRandom(9_000 + n)
    const { log } = generateLog(random)
    const budget = random.int(40, 300)
    let reduction = noReduction
    for (let at = 1; at <= log.length; at++) {
      const input = inputFor(foldEvents(log.slice(0, at)), budget, { reduction })
      const next = reduce(input)
      expect(reduce(inputFor(foldEvents(log.slice(0, at)), budget, { reduction }))).toEqual(next)
      expect(next.windowFrom).toBeGreaterThanOrEqual(reduction.windowFrom)
      const shown = visibleTurns(input.state.turns, next)
      expect(shown.filter((turn) => !turn.end)).toEqual(input.state.turns.filter((turn) => turn.opened && !turn.end))
      for (const turn of shown)
        for (const { callId } of turn.calls)
          if (reduction.stubbed.has(callId)) expect(next.stubbed.has(callId)).toBe(true)
      if (next === reduction) {
        const isStuck = shown.every((turn) => !turn.end)
        expect(input.count(next) <= budget || isStuck).toBe(true)
      } else if (input.count(next) > input.limits.target) expect(shown.every((turn) => !turn.end)).toBe(true)
      reduction = next
    }
  }
})
