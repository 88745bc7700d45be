import { expect, test } from 'vitest'
import { markdownPieces } from './markdown-pieces.ts'

const types = (text: string) => markdownPieces(text)?.map(({ type }) => type) ?? null

test('text is divided at blank lines and fences, and a fence that is still open is code already', () => {
  expect(markdownPieces('one\n\ntwo\n```ts\nconst a = 1\n\nconst b\n```\nthree\n```\nopen')).toEqual([
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
    { type: 'code', text: 'const a = 1\n\nconst b', language: 'ts' },
    { type: 'text', text: 'three' },
    { type: 'code', text: 'open' },
  ])
})

test('an indented line after a blank one belongs to the list before it', () => {
  expect(markdownPieces('- a\n\n  still a\n\nb')).toEqual([
    { type: 'text', text: '- a\n\n  still a' },
    { type: 'text', text: 'b' },
  ])
})

test('text that grows changes its last piece alone', () => {
  const before = markdownPieces('one\n\ntwo\n\nthr')!
  const after = markdownPieces('one\n\ntwo\n\nthree')!
  expect(after.slice(0, -1)).toEqual(before.slice(0, -1))
})

test('what could take long to parse stays plain: deep nesting, too many marks, long lines', () => {
  const nested = Array.from({ length: 200 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n')
  expect(types(nested)).toEqual(['plain'])
  expect(types(`${'>'.repeat(3_000)} x`)).toEqual(['plain'])
  expect(types('_a__b'.repeat(8_000))).toEqual(['plain'])
  expect(types('![a]('.repeat(3_000))).toEqual(['plain'])
  expect(types('x'.repeat(20_000))).toEqual(['plain'])
  expect(types('- a\n  - b\n    - **c**')).toEqual(['text'])
})

test('more than a page can hold is not divided at all', () => {
  expect(markdownPieces('x'.repeat(1_000_000))).toBe(null)
  expect(markdownPieces('a\n\n'.repeat(2_000))).toBe(null)
})
