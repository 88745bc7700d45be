import { expect, test } from 'vitest'
import { called, failed, replied, said, stateOf, succeeded } from '../../test/log/story.ts'
import { emptyState } from '../log/state.ts'
import { injection } from '../log/validate-event.ts'
import { biggestParts } from './assemble-prompt.ts'
import { gptTokenizer } from './budget/count-tokens.ts'
import { noReduction } from './budget/reduce.ts'
import { explain } from './explain.ts'

const letters = (text: string) => text.length
const state = stateOf([
  said('t1'),
  injection({ turnId: 't1', step: 0, hook: 'clock', parts: [{ type: 'text', text: 'i'.repeat(50) }] }),
  replied('t1', 'm1', 1, { calls: ['c1', 'c2'], parts: [{ type: 'text', text: 'a' }] }),
  called('c1', { args: 'x'.repeat(40) }),
  called('c2', { args: 1 }),
  succeeded('c1'),
  failed('c2', 'e'.repeat(30)),
])
const contents = { state, agent: { tools: [] }, system: 's'.repeat(20), injections: [], reduction: noReduction }

test('the biggest parts of a prompt are named with what they cost, the biggest first', () => {
  expect(biggestParts(contents, letters)).toEqual([
    expect.stringMatching(/^result of 'refund' \(c2\): \d+ tokens$/),
    "injection 2 of 'clock': 54 tokens",
    "arguments of 'refund' (c1): 42 tokens",
  ])
  expect(biggestParts(contents, letters, 1)).toHaveLength(1)
  const all = biggestParts(contents, letters, 99)
  expect(all).toContain('the instructions: 20 tokens')
  expect(all).toContain('message 1: 10 tokens')
  expect(all).toContain(`answer 3: ${JSON.stringify([{ type: 'text', text: 'a' }]).length} tokens`)
  expect(all.some((part) => part.startsWith('the summary') || part.includes('0 tools'))).toBe(false)
})

test('injections of the call, the summary and the tools are parts; calls that are stubbed are not', () => {
  const reduction = {
    ...noReduction,
    stubbed: new Map([['c1', 'old']]) as never,
    summary: { toSeq: 0, version: 1, text: 'short' },
  }
  const injections = [{ type: 'text' as const, text: 'now' }]
  const all = biggestParts({ ...contents, injections, reduction }, letters, 99)
  expect(all).toContain('the injections of this call: 7 tokens')
  expect(all).toContain('the summary: 5 tokens')
  expect(all.some((part) => part.includes('(c1)'))).toBe(false)
})

test('a seed is told before the first turn, until it is put away', () => {
  const seeded = [{ type: 'seeded' as const, content: { state: 'before' }, conversationId: 'c', seq: 1, at: 1 }]
  expect(explain(seeded, { evictions: { seen: 1, evicted: [] } }, emptyState)).toEqual([
    { seq: 1, type: 'seeded', shown: 'verbatim', why: 'it is rendered before the first turn' },
  ])
  const evicted = [
    { shown: 'stubbed', why: 'old', callId: 'c1' },
    { shown: 'summarised', why: 'a summary stands for it', toSeq: 5 },
  ]
  expect(explain(seeded, { evictions: { seen: 1, evicted } }, emptyState)).toEqual([
    { seq: 1, type: 'seeded', shown: 'summarised', why: 'a summary stands for it' },
  ])
})

test('the tokenizer counts the same however often, and what looks like a mark as text', async () => {
  const count = await gptTokenizer()
  const first = count('Hello there')
  expect(first).toBeGreaterThan(0)
  expect(count('Hello there')).toBe(first)
  expect(count('<|endoftext|>')).toBeGreaterThan(1)
  expect(count('')).toBe(0)
})
