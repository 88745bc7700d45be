import { expect, test } from 'vitest'
import { renderUserParts } from './render-turn.ts'

const blob = { blob: 'hash', mediaType: 'image/png', size: 3 }
const file = (data: string | typeof blob, filename?: string) => {
  return { type: 'file' as const, mediaType: 'image/png', data, ...(filename === undefined ? {} : { filename }) }
}

test('texts are shown well-formed, and blank ones are not', () => {
  const texts = ['Hi \ud800', ' \n', '', ' there '].map((text) => ({ type: 'text' as const, text }))
  expect(renderUserParts(texts)).toEqual([
    { type: 'text', text: 'Hi \ufffd' },
    { type: 'text', text: ' there ' },
  ])
})

test('a file is shown by its address or its bytes, with its name where it has one', () => {
  const bytes = Uint8Array.of(1, 2, 3)
  const parts = [file('https://example.com/a.png'), file(blob, 'a\ud800.png')]
  expect(renderUserParts(parts, new Map([['hash', bytes]]))).toEqual([
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes }, filename: 'a\ufffd.png' },
  ])
})

test('what cannot be shown is told of', () => {
  expect(renderUserParts([file('file:///etc/passwd', 'a.png'), file('javascript:1'), file(blob, 'b.png')])).toEqual([
    { type: 'text', text: '[file a.png: its address is not on the web]' },
    { type: 'text', text: '[file : its address is not on the web]' },
    { type: 'text', text: '[file b.png is no longer available]' },
  ])
})
