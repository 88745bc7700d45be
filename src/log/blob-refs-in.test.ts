import { expect, test } from 'vitest'
import type { Json } from '../base/json.ts'
import { blobRefsIn } from './blob-ref.ts'

const hash = 'ab'.repeat(32)
const ref = { blob: hash, mediaType: 'image/png', size: 3 }

test('a ref is found wherever it is, once', () => {
  expect(blobRefsIn({ message: { parts: [{ type: 'file', data: ref }, ref] }, more: { deep: [[ref]] } })).toEqual([
    hash,
  ])
})

test.each<[string, Json]>([
  ['a hash that is too short', { ...ref, blob: 'ab' }],
  ['a hash in upper case', { ...ref, blob: hash.toUpperCase() }],
  ['a ref without a media type', { blob: hash, size: 3 }],
  ['a ref without a size', { blob: hash, mediaType: 'image/png' }],
  ['a bare hash', hash],
  ['null', null],
])('%s is not one', (_, value) => {
  expect(blobRefsIn({ value })).toEqual([])
})
