import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { expectStablePrefix } from './validate-prompt.ts'

const system = (content: string): LanguageModelV4Message => ({ role: 'system', content })
const asks = (text: string): LanguageModelV4Message => ({ role: 'user', content: [{ type: 'text', text }] })
const says = (text: string): LanguageModelV4Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const gives = (value: string): LanguageModelV4Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'text', value } }],
})
const calls = (...prompts: LanguageModelV4Message[][]) => prompts.map((prompt) => ({ prompt }))
const long = 'word '.repeat(500)

describe('a stable prefix', () => {
  test.each([
    ['of no calls', calls()],
    ['of one', calls([asks('a')])],
    ['of prompts that grow', calls([asks('a')], [asks('a'), says('b'), asks('c')])],
    [
      'with injections that come and go at the end',
      calls(
        [asks('a'), asks('1 o’clock')],
        [asks('a'), says('b'), gives('x'), asks('2 o’clock')],
        [asks('a'), says('b'), gives('x'), says('d'), asks('e')],
      ),
    ],
    ['with a reduction', calls([asks(long), says(long), asks('a')], [asks('a'), says('b'), asks('c')])],
    [
      'with a summary that was late',
      calls(
        [asks('a')],
        [asks('Summary of the conversation so far, in place of its earlier messages:\n\nx'), asks('a'), says('b')],
      ),
    ],
  ])('%s', (_, made) => {
    expect(() => expectStablePrefix(made)).not.toThrow()
  })

  test.each([
    [
      'instructions that change',
      calls([system('1'), asks('a')], [system('2'), asks('a'), says('b')]),
      'call 2: the instructions have changed',
    ],
    [
      'a message in the middle that changes',
      calls([asks('a'), says('b'), asks('c')], [asks('x'), says('b'), asks('c')]),
      'call 2: message 0 (user) has changed',
    ],
    [
      'a question that changes',
      calls([asks('a'), says('b'), asks('c')], [asks('a'), says('b'), asks('x'), says('d')]),
      'call 2: message 2 (user) has changed',
    ],
    [
      'a result that changes',
      calls([asks('a'), says('b'), gives('x')], [asks('a'), says('b'), gives('y'), says('d')]),
      'call 2: message 2 (tool) has changed',
    ],
    [
      'a window that slides at every call',
      calls([asks('1'), says('1'), asks('2')], [asks('2'), says('2'), asks('3')], [asks('3'), says('3'), asks('4')]),
      'moved 2 times',
    ],
    [
      'results that become stubs one by one',
      calls(
        [asks(long), gives(long), asks(long)],
        [asks(long), gives('-'), asks(long), says('a'), gives(long)],
        [asks(long), gives('-'), asks(long), says('a'), gives('-'), asks('b')],
      ),
      'moved',
    ],
  ])('is not one with %s', (_, made, problem) => {
    expect(() => expectStablePrefix(made)).toThrow(problem)
  })

  test('may move as often as other nodes took over', () => {
    const made = calls([asks('a'), says('b'), asks('c')], [asks('x'), says('b'), asks('c')])
    expect(() => expectStablePrefix(made, { takeovers: 1 })).not.toThrow()
  })

  test('may be asked for a number of reductions', () => {
    const made = calls([asks(long), says(long), asks('a')], [asks('a'), says('b'), asks('c')])
    expect(() => expectStablePrefix(made, { reductions: 1 })).not.toThrow()
    expect(() => expectStablePrefix(made, { reductions: 0 })).toThrow(
      'There were 1 reductions; at most 0 were expected.',
    )
  })
})
