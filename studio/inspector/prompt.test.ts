import type { Explanation, Json } from 'perdure/client'
import { describe, expect, test } from 'vitest'
import { called, madeLog, said, wrote } from './made-log.ts'
import { messageFate } from './message-fate.ts'
import { promptDiff, promptMessages } from './prompt-diff.ts'
import { tokenBudget } from './token-budget.ts'

const message = (role: string, text: string): Json => ({ role, content: [{ type: 'text', text }] })
const prompt = (...messages: Json[]) => promptMessages(messages)!
const system: Json = { role: 'system', content: 'You help.' }

describe('the difference between two prompts', () => {
  test('a prompt that only grew keeps the cache', () => {
    const diff = promptDiff(
      prompt(system, message('user', 'a')),
      prompt(system, message('user', 'a'), message('assistant', 'b')),
    )
    expect(diff).toMatchObject({ common: 2, brokenAt: null, added: 1, removed: 0, changed: 0 })
  })

  test('the first difference is where the cache broke', () => {
    const before = prompt(system, message('user', 'a'), message('assistant', 'b'), message('user', 'c'))
    const now = prompt(system, message('user', 'summary'), message('user', 'c'), message('assistant', 'd'))
    const diff = promptDiff(before, now)
    expect(diff).toMatchObject({ common: 1, brokenAt: 1, added: 1, removed: 1, changed: 1 })
    expect(diff.lines.map(({ change, message: { text } }) => [change, text])).toEqual([
      ['same', 'You help.'],
      ['changed', 'summary'],
      ['removed', 'b'],
      ['same', 'c'],
      ['added', 'd'],
    ])
  })

  test('a message that is gone from the end breaks it, too', () => {
    expect(promptDiff(prompt(system, message('user', 'a')), prompt(system))).toMatchObject({ brokenAt: 1, removed: 1 })
  })

  test('two long prompts without anything in common are compared as wholes', () => {
    const many = (text: string) => prompt(...Array.from({ length: 2_500 }, (_, n) => message('user', `${text} ${n}`)))
    expect(promptDiff(many('a'), many('b'))).toMatchObject({ changed: 2_500, added: 0, removed: 0 })
  })

  test('calls and results read as text, and what was not recorded is null', () => {
    const parts = [
      { type: 'tool-call', toolName: 'pay', input: { cents: 5 } },
      { type: 'tool-result', toolName: 'pay', output: { type: 'text', value: 'paid' } },
    ]
    expect(prompt({ role: 'tool', content: parts })[0]!.text).toBe('pay {"cents":5}\npay: paid')
    expect(promptMessages(null)).toBeNull()
    expect(promptMessages([null, 5])).toMatchObject([{ role: 'unknown' }, { role: 'unknown' }])
  })
})

describe('the token budget of a prompt', () => {
  const events = madeLog(said('t1', 'x'.repeat(400)), wrote('t1', 'm1', 'y'.repeat(400)), called('t2', 'c', 'find'), [
    'injection',
    { turnId: 't2', step: 0, hook: 'memory', parts: [{ type: 'text', text: 'z'.repeat(80) }] },
  ])
  const explained = (...shown: Explanation['shown'][]): Explanation[] =>
    shown.map((how, index) => ({ seq: index + 1, type: events[index]!.type, shown: how, why: '' }))
  const at = (seq: number) => events[seq - 1]

  test('adds up to what the provider counted', () => {
    const rendered = prompt(
      { role: 'system', content: 's'.repeat(100) },
      message('user', `Summary of the conversation so far, in place of its earlier messages:\n\n${'u'.repeat(29)}`),
      message('user', 'z'.repeat(80)),
      message('user', 't'.repeat(120)),
    )
    const budget = tokenBudget(rendered, explained('summarised', 'summarised', 'verbatim', 'verbatim'), at, 200)
    expect(budget).toEqual({
      total: 200,
      isEstimate: false,
      parts: [
        { part: 'system', tokens: 50 },
        { part: 'summary', tokens: 50 },
        { part: 'tail', tokens: 60 },
        { part: 'injections', tokens: 40 },
        { part: 'evicted', tokens: 200 },
      ],
    })
  })

  test('is told from the events where the prompt was not recorded', () => {
    const budget = tokenBudget(null, explained('outside_window', 'verbatim', 'verbatim', 'verbatim'), at, 150)
    const tokens = Object.fromEntries(budget.parts.map(({ part, tokens: count }) => [part, count]))
    expect(tokens).toMatchObject({ tail: 105, injections: 20, evicted: 100, system: 25 })
  })
})

test('what happened to a message in later prompts, alike calls together', () => {
  const call = (turnRef: string, shown: Explanation['shown'], why: string) => ({
    turnRef,
    explanations: [{ seq: 3, type: 'user_msg', shown, why }],
  })
  const fates = messageFate(3, [
    call('t1/0000', 'not_shown', 'it came after this call'),
    call('t2/0000', 'verbatim', 'its turn is in the window'),
    call('t3/0000', 'verbatim', 'its turn is in the window'),
    call('t4/0000', 'summarised', 'version 1 of the summary covers it'),
    { turnRef: 't5/0000', explanations: [] },
  ])
  expect(fates.map(({ shown, from, to, calls }) => [shown, from, to, calls])).toEqual([
    ['verbatim', 't2/0000', 't3/0000', 2],
    ['summarised', 't4/0000', 't4/0000', 1],
  ])
})
