import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { commonPrefix, traceOf } from './common-prefix.ts'

const system = (content: string): LanguageModelV4Message => ({ role: 'system', content })
const user = (text: string): LanguageModelV4Message => ({ role: 'user', content: [{ type: 'text', text }] })
const says = (text: string): LanguageModelV4Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const between = (earlier: LanguageModelV4Prompt, later: LanguageModelV4Prompt) =>
  commonPrefix(traceOf(earlier), traceOf(later))

test.each<[string, LanguageModelV4Prompt, LanguageModelV4Prompt, number, string | null]>([
  ['a prompt that grew', [system('a'), user('b')], [system('a'), user('b'), says('c'), user('d')], 2, null],
  ['the same prompt', [user('b')], [user('b')], 1, null],
  ['other instructions', [system('a'), user('b')], [system('x'), user('b')], 0, 'the instructions have changed'],
  [
    'another message',
    [user('a'), says('b'), user('c')],
    [user('a'), says('x'), user('c')],
    1,
    'message 1 (assistant) has changed',
  ],
  [
    'another role',
    [user('a'), says('b')],
    [user('a'), user('b')],
    1,
    'message 1 changed its role from assistant to user',
  ],
  ['a prompt that shrank', [user('a'), says('b')], [user('a')], 1, 'message 1 (assistant) is gone'],
])('%s', (_, earlier, later, messages, brokenBy) => {
  expect(between(earlier, later)).toMatchObject({ messages, brokenBy })
})

test('tells how much of the prompt is common', () => {
  const grown = between([user('hello')], [user('hello'), says('hi'), user('bye')])
  const whole = between([user('hello'), says('hi'), user('bye')], [user('hello'), says('hi'), user('bye')])
  expect(grown.of).toBe(whole.of)
  expect(whole.characters).toBe(whole.of)
  expect(grown.characters).toBe(JSON.stringify(user('hello')).length)
})

test('marks for the cache, which move from call to call, break nothing', () => {
  const marked = { ...user('a'), providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }
  expect(between([marked], [user('a'), says('b')]).brokenBy).toBeNull()
})

test('the bytes of files are compared by their length', () => {
  const file = (bytes: Uint8Array): LanguageModelV4Message => ({
    role: 'user',
    content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes } }],
  })
  expect(traceOf([file(Buffer.alloc(1_000_000))])[0]!.characters).toBeLessThan(200)
  expect(between([file(new Uint8Array(2))], [file(Buffer.alloc(2))]).brokenBy).toBeNull()
})
