import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { type MessageInput, readMessage } from './turn-options.ts'

const bytes = new Uint8Array([1, 2, 3])

test('what the caller does with its parts afterwards changes nothing', () => {
  const data = { blob: 'a'.repeat(64), mediaType: 'image/png', size: 3 }
  const parts = [{ type: 'file' as const, mediaType: 'image/png', data }]
  const { message } = readMessage(parts)
  const before = structuredClone(message)
  data.blob = 'b'.repeat(64)
  parts.pop()
  expect(message).toEqual(before)
})

test('text is one part', () => {
  expect(readMessage('hello').message).toEqual({ parts: [{ type: 'text', text: 'hello' }] })
})

test('parts are taken in their order, given bare or in an object', () => {
  const parts = [
    { type: 'text', text: 'one' },
    { type: 'text', text: ' ' },
  ] as const
  expect(readMessage(parts).message).toEqual({ parts })
  expect(readMessage({ parts }).message).toEqual({ parts })
})

test('bytes become the ref that the store will give them; URLs and refs stay what they are', async () => {
  const ref = await memoryStore({ logger: silentLogger }).putBlob(bytes, 'image/png')
  const file = { type: 'file', mediaType: 'image/png' } as const
  const url = 'https://example.test/cat.png'
  const { message, files } = readMessage([
    { ...file, data: bytes, filename: 'cat.png' },
    { ...file, data: new URL(url) },
    { ...file, data: url },
    { ...file, data: ref },
  ])
  expect(message.parts).toEqual([
    { ...file, data: ref, filename: 'cat.png' },
    { ...file, data: url },
    { ...file, data: url },
    { ...file, data: ref },
  ])
  expect(files).toEqual([{ bytes, mediaType: 'image/png' }])
})

test('the same file twice is stored once', () => {
  const file = { type: 'file', mediaType: 'image/png', data: bytes } as const
  expect(readMessage([file, { ...file, data: new Uint8Array(bytes) }]).files).toHaveLength(1)
})

test('only what is known of a part is taken', () => {
  const part = { type: 'text', text: 'hi', providerMetadata: { evil: true } } as never
  expect(readMessage([part]).message).toEqual({ parts: [{ type: 'text', text: 'hi' }] })
})

const nonsense: [string, unknown][] = [
  ['nothing', ''],
  ['blanks', ' \n\t'],
  ['no parts', []],
  ['empty parts', [{ type: 'text', text: '' }]],
  ['a number', 7],
  ['null', null],
  ['undefined', undefined],
  ['an object without parts', { text: 'hi' }],
  ['a part of an unknown type', [{ type: 'video', text: 'x' }]],
  ['text that is no text', [{ type: 'text', text: 7 }]],
  ['a file without a type', [{ type: 'file', data: bytes }]],
  ['a file whose address is none', [{ type: 'file', mediaType: 'image/png', data: 'cat.png' }]],
  ['a file without data', [{ type: 'file', mediaType: 'image/png' }]],
  ['null among the parts', [null, { type: 'text', text: 'x' }]],
]

test.each(nonsense)('%s is refused', (_, input) => {
  expect(() => readMessage(input as MessageInput)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
})
