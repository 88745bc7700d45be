import { expect, test } from 'vitest'
import { toolTurns } from '../../test/context/tool-turns.ts'
import type { WorkingSet } from '../store/working-sets.ts'
import { ContextMemories, remember, summaryText } from './assemble-prompt.ts'
import { noReduction } from './budget/reduce.ts'

const state = toolTurns([{}, {}, {}])
const [first, second] = state.turns.map((turn) => turn.end!.seq)
const summary = (toSeq: number) => ({ toSeq, version: 1, content: 'they met' })
const loaded = (toSeq: number | null = null): WorkingSet => ({
  state,
  lastAt: 0,
  origin: { summary: toSeq === null ? null : summary(toSeq) },
})

test('a memory that is new begins with the summary that the working set begins after', () => {
  const memory = new ContextMemories().of('default', 'c1')
  const workingSet = loaded(first)
  expect(remember(memory, workingSet)).toBe(workingSet)
  expect(memory.reduction).toEqual({ ...noReduction, summary: { toSeq: first, version: 1, text: 'they met' } })
})

test('a memory goes on as long as it is the same working set', () => {
  const memory = new ContextMemories().of('default', 'c1')
  const workingSet = remember(memory, loaded())
  memory.reduction = { ...noReduction, windowFrom: 7 }
  remember(memory, { ...workingSet, lastAt: 5 })
  expect(memory.reduction.windowFrom).toBe(7)
})

test('a memory of a log that was loaded anew begins again', () => {
  const memory = new ContextMemories().of('default', 'c1')
  remember(memory, loaded())
  memory.reduction = { ...noReduction, windowFrom: 7 }
  memory.latestSummary = { toSeq: 9, version: 4, text: 'of another log' }
  memory.isSummarising = true
  remember(memory, loaded())
  expect(memory).toMatchObject({ reduction: noReduction, latestSummary: null, isSummarising: true })
})

test('turns that a summary stands for are let go, and the working set says so', () => {
  const memory = new ContextMemories().of('default', 'c1')
  const workingSet = remember(memory, loaded())
  memory.reduction = { ...noReduction, summary: { toSeq: second!, version: 2, text: 'both' } }
  const trimmed = remember(memory, workingSet)
  expect(trimmed.state.turns.map((turn) => turn.turnId)).toEqual(['t3'])
  expect(trimmed.origin.summary).toEqual({ toSeq: second, version: 2, content: 'both' })
  expect(remember(memory, trimmed)).toBe(trimmed)
  // A memory that was evicted meanwhile learns it from there.
  const another = new ContextMemories().of('default', 'c1')
  remember(another, trimmed)
  expect(another.reduction.summary?.text).toBe('both')
})

test('only so many conversations are remembered', () => {
  const memories = new ContextMemories(2)
  const kept = memories.of('default', 'a')
  memories.of('default', 'b')
  expect(memories.of('default', 'a')).toBe(kept)
  memories.of('other', 'a')
  memories.of('default', 'c')
  expect(memories.of('default', 'a')).not.toBe(kept)
})

test.each([
  ['text', 'they met', 'they met'],
  ['JSON', { topics: ['hats'] }, '{"topics":["hats"]}'],
  ['nothing', null, ''],
])('a summary of %s reads as text', (_, content, text) => {
  expect(summaryText({ toSeq: 1, version: 1, content })?.text).toBe(text)
})
