import { expect, test } from 'vitest'
import { type ToolTurn, toolTurns } from '../../test/context/tool-turns.ts'
import type { ContextAttributes } from '../define/agent.ts'
import { defineAgent } from '../define/define-agent.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { type AssembleInput, assemblePrompt } from './assemble-prompt.ts'
import { uncalibrated } from './budget/count-tokens.ts'
import { TurnSizes } from './budget/prompt-size.ts'
import { noReduction } from './budget/reduce.ts'
import { EndedTurns } from './render/render-turn.ts'

const model = { provider: 'test', modelId: 'one' }

function input(turns: ToolTurn[], context: ContextAttributes, more: Partial<AssembleInput> = {}): AssembleInput {
  const agent = defineAgent({
    name: 'chat',
    model: scriptedModel('fine'),
    context: { injectionReserve: 0, ...context },
  })
  return {
    state: toolTurns(turns),
    agent,
    system: 'Be brief.',
    model,
    injections: [],
    reduction: noReduction,
    latest: null,
    calibration: uncalibrated,
    turnSizes: new TurnSizes(),
    endedTurns: new EndedTurns(),
    ...more,
  }
}

const many = (count: number, turn: ToolTurn = {}): ToolTurn[] =>
  Array.from({ length: count }, (_, n) => ({ ...turn, isOpen: n === count - 1 }))

test('what hooks inject counts for the ceiling, and not for the reduction, which has left room for it', () => {
  const injections = [{ type: 'text' as const, text: 'word '.repeat(200) }]
  const without = assemblePrompt(input(many(5), { workingBudget: 1_000 }))
  const withThem = assemblePrompt(input(many(5), { workingBudget: 1_000 }, { injections }))
  expect(withThem.reduction).toBe(without.reduction)
  expect(withThem.estimated).toBeGreaterThan(without.estimated + 150)
})

test('what estimates are corrected by decides when to reduce', () => {
  const turns = many(5)
  const { estimated } = assemblePrompt(input(turns, {}))
  const context = { workingBudget: Math.ceil(estimated * 1.2), retention: 'never' as const }
  expect(assemblePrompt(input(turns, context)).hasReduced).toBe(false)
  expect(assemblePrompt(input(turns, context, { calibration: { factor: 1.5 } })).hasReduced).toBe(true)
})

test('a tokenizer of the agent’s own is used for everything', () => {
  const counted: string[] = []
  const tokenizer = (text: string) => {
    counted.push(text)
    return 1
  }
  assemblePrompt(input(many(1), { tokenizer }))
  expect(counted).toEqual(expect.arrayContaining(['Be brief.', 'Look it up, please.', '{"n":0}']))
})

test('a prompt that does not fit whatever is left out names what is biggest in it', () => {
  const { overflow } = assemblePrompt(input(many(3, { tokens: 3_000 }), { ceiling: 2_000 }))
  expect(overflow).toMatchObject({ code: 'context_overflow', retryable: false })
  expect(overflow?.biggest[0]).toMatch(/^result of 'look' \(c3\): \d+ tokens$/)
  expect(overflow?.message).toContain('the ceiling is 2000')
})

test('estimates are corrected before they are held against the ceiling, to which all of it may go', () => {
  const turns = many(1, { tokens: 1_000 })
  const { estimated } = assemblePrompt(input(turns, {}))
  const overflowOf = (ceiling: number, factor: number) =>
    assemblePrompt(input(turns, { ceiling }, { calibration: { factor } })).overflow
  expect(overflowOf(estimated, 1)).toBe(null)
  expect(overflowOf(estimated - 1, 1)?.message).toContain(`about ${estimated} tokens`)
  expect(overflowOf(2 * estimated, 2)).toBe(null)
  expect(overflowOf(2 * estimated - 1, 2)?.message).toContain(`about ${2 * estimated} tokens`)
  expect(overflowOf(Math.ceil(estimated / 2), 0.5)).toBe(null)
})

test('nothing but the open turn counts against the ceiling: the rest can go', () => {
  expect(
    assemblePrompt(
      input([...many(20, { tokens: 500 }).map((turn) => ({ ...turn, isOpen: false })), { isOpen: true }], {
        ceiling: 1_000,
      }),
    ).overflow,
  ).toBeNull()
})

test('turns that one agent has counted are counted again for another, who counts otherwise', () => {
  const turns = many(5)
  const state = toolTurns(turns)
  const byWords = { tokenizer: (text: string) => text.split(' ').length }
  const fresh = assemblePrompt(input(turns, byWords, { state })).estimated
  const turnSizes = new TurnSizes()
  expect(assemblePrompt(input(turns, {}, { state, turnSizes })).estimated).not.toBe(fresh)
  expect(assemblePrompt(input(turns, byWords, { state, turnSizes })).estimated).toBe(fresh)
})
