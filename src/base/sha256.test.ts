import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256 } from './sha256.ts'

const reference = (text: string): string => createHash('sha256').update(text).digest('hex')

test('it is the SHA-256 of the text in UTF-8, at every length around a block', () => {
  for (let length = 0; length <= 200; length++) expect(sha256('a'.repeat(length))).toBe(reference('a'.repeat(length)))
  fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => sha256(text) === reference(text)))
})
