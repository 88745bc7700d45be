import { expect, test } from 'vitest'
import { toUserParts } from './turn.ts'

const blob = { blob: 'a'.repeat(64), mediaType: 'image/png', size: 3 }
const file = { type: 'file', mediaType: 'image/png', data: 'https://example.com/a.png' }

test('a text, a part or a list of both are parts, and empty texts are none', () => {
  const text = { type: 'text', text: 'Hi' }
  expect(toUserParts('Hi')).toEqual([text])
  expect(toUserParts(text)).toEqual([text])
  expect(toUserParts(['', 'Hi', file, { type: 'text', text: '' }])).toEqual([text, file])
  expect(toUserParts('')).toEqual([])
})

test('what is known of a part is copied and frozen, and the rest is left out', () => {
  const given = { type: 'text', text: 'Hi', providerMetadata: { a: {} }, more: 1 }
  const parts = toUserParts([given, { ...file, filename: 'a.png', more: 1 }, { ...file, data: blob }])
  expect(parts).toEqual([
    { type: 'text', text: 'Hi', providerMetadata: { a: {} } },
    { ...file, filename: 'a.png' },
    { ...file, data: blob },
  ])
  expect([Object.isFrozen(parts), ...parts.map((part) => Object.isFrozen(part))]).toEqual([true, true, true, true])
  expect(parts[0]).not.toBe(given)
})

test.each([
  [7],
  [null],
  [{ type: 'text' }],
  [{ type: 'text', text: 7 }],
  [{ type: 'text', text: 'Hi', providerMetadata: [] }],
  [{ type: 'text', text: 'Hi', providerMetadata: null }],
  [{ type: 'other', text: 'Hi' }],
  [{ ...file, mediaType: '' }],
  [{ ...file, mediaType: 7 }],
  [{ ...file, data: 'file:///etc/passwd' }],
  [{ ...file, data: 7 }],
  [{ ...file, filename: 7 }],
  [{ ...file, type: 'image' }],
])('%j is no part', (wrong) => {
  expect(() => toUserParts(['Hi', wrong])).toThrow("'parts[1]' must be a string, a text part or a file part")
})

test('what cannot be JSON is refused with its place', () => {
  expect(() => toUserParts({ type: 'text', text: 'Hi', more: Number.NaN })).toThrow('parts[0].more')
})
