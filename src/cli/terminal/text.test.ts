import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SafeText, safe, safeJson, safely } from './text.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0x20ff }).map((code) => String.fromCharCode(code)) })

test('no text from outside reaches a terminal as a command', () => {
  fc.assert(fc.property(anyText, (text) => !dangerous.test(safely(text)) && !dangerous.test(safe`<${text}>`.text)))
})

test('JSON is safe too, and still means the same', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const json = safeJson({ text, [text]: 1 }, 2)
      expect(json).not.toMatch(dangerous)
      expect(JSON.parse(json)).toEqual({ text, [text]: 1 })
    }),
  )
})

test('what is shown instead tells what was there', () => {
  expect(safely('a\u001b[2Jb\u009bc\u202ed\te\r\nf\n')).toBe('a\\x1b[2Jb\\x9bc\\u202ed\te\nf\n')
})

test('safe text is not escaped again', () => {
  const red = new SafeText('\u001b[31mred\u001b[39m')
  expect(safe`${red} ${'\u001b'} ${7}`.text).toBe('\u001b[31mred\u001b[39m \\x1b 7')
})
