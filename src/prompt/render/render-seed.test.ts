import { expect, test } from 'vitest'
import type { Json } from '../../base/json.ts'
import { renderSeed, seedText } from './render-context.ts'

const message = (role: string, ...parts: Json[]): Json => ({ role, at: 1, parts })
const text = (text: string): Json => ({ type: 'text', text })
const snapshot = (messages: Json[], summary: string | null = null): Json => ({
  ...{ version: 2, seq: 1, state: 'idle', title: null },
  summary,
  messages,
})
const call = (status: string, result: Json, args: Json = { a: 1 }): Json => ({
  type: 'call',
  callId: 'c1',
  name: 'find',
  args,
  status,
  result,
})

test('a snapshot is told as plain text: who said what, and how calls ended', () => {
  const seed = snapshot(
    [
      message('user', text(' Hi '), { type: 'file', mediaType: 'image/png', filename: null }),
      message(
        'assistant',
        text('Let me see.'),
        call('ok', { n: 1 }),
        call('error', 'no'),
        call('pending', null),
        call('open', null),
      ),
      message('assistant', call('ok', 1)),
    ],
    'They met.',
  )
  expect(seedText(seed).split('\n')).toEqual([
    'Summary of what came before: They met.',
    'User: Hi [file image/png]',
    'Assistant: Let me see.',
    'Tool find({"a":1}): ok, {"n":1}',
    'Tool find({"a":1}): error, "no"',
    'Tool find({"a":1}): it had not ended',
    'Tool find({"a":1}): it had not ended',
    'Tool find({"a":1}): ok, 1',
  ])
})

test('what is no snapshot is told as it is, and nothing as nothing', () => {
  expect(seedText({ any: 'thing' })).toBe('{"any":"thing"}')
  expect([seedText('text \ud800'), seedText(7), seedText(null)]).toEqual(['text \ufffd', '7', ''])
  expect(seedText(snapshot([]))).toBe('')
})

test('what is long is cut: all of it at 60,000 characters, arguments and results at 4,000', () => {
  expect(seedText(snapshot([message('user', text('a'.repeat(60_000 - 6)))]))).toBe(`User: ${'a'.repeat(59_994)}`)
  expect(seedText(snapshot([message('user', text('a'.repeat(60_000 - 5)))]))).toBe(`User: ${'a'.repeat(59_994)}…`)
  const long = 'b'.repeat(4_000)
  expect(seedText(snapshot([message('assistant', call('ok', long, long))]))).toBe(
    `Tool find("${long.slice(1)}…): ok, "${long.slice(1)}…`,
  )
})

test('a pair of surrogates that the cut would part is not left in half', () => {
  for (const before of ['', 'x']) {
    const told = seedText(snapshot([message('user', text(before + '😀'.repeat(40_000)))]))
    expect([told.isWellFormed(), told.length]).toEqual([true, 60_001])
  }
})

test('a seed stands before the first turn until a summary stands for it', () => {
  const seed = snapshot([message('user', text('Hi'))])
  expect(renderSeed({ seed }, { summary: null })).toEqual([
    {
      role: 'user',
      content: [{ type: 'text', text: 'What was said before, from a copy of an earlier conversation:\n\nUser: Hi' }],
    },
  ])
  expect(renderSeed({ seed }, { summary: { toSeq: 1, version: 1, text: '' } })).toEqual([])
  expect(renderSeed({ seed: null }, { summary: null })).toEqual([])
})
