import fc from 'fast-check'
import { expect, test } from 'vitest'
import { coloursOf, joined, SafeText, safely } from '../terminal/text.ts'
import { breakText, widthOf, wrapText } from './screen.ts'

const table: [string, string, number, number, string[]][] = [
  ['a line that fits is one row', 'to be', 5, 0, ['to be']],
  ['a longer one is broken at a space', 'to be or not', 6, 0, ['to be ', 'or not']],
  ['a space at the edge is the break', 'abcd ef', 4, 0, ['abcd', 'ef']],
  ['a word that is too long is cut', 'abcdefgh', 3, 0, ['abc', 'def', 'gh']],
  ['further rows are indented', 'one two three', 6, 2, ['one ', '  two ', '  thre', '  e']],
  ['line breaks and the spaces after them are kept', 'a\n\n  b', 9, 1, ['a', ' ', '   b']],
  ['nothing is an empty row', '', 9, 2, ['']],
  ['wide characters take two cells', '東京都', 4, 0, ['東京', '都']],
  ['an accent takes no cell of its own', 'e\u0301e\u0301', 2, 0, ['éé']],
]

test.each(table)('%s', (_, text, width, indent, rows) => {
  expect(wrapText(text, width, indent)).toEqual(rows)
})

test('colours end with each row and begin again in the next', () => {
  const { red, dim } = coloursOf(true)
  const on = (code: number, text: string, off: number) => `\u001b[${code}m${text}\u001b[${off}m`
  expect(wrapText(joined([red('ab cd'), dim('ef')]), 5)).toEqual([
    on(31, 'ab ', 39),
    on(31, 'cd', 39) + on(2, 'ef', 22),
  ])
  expect(wrapText(dim('a\nb'), 5)).toEqual([on(2, 'a', 22), on(2, 'b', 22)])
})

test('whatever the text, no row is too wide, nothing is lost, and nothing a terminal obeys is left', () => {
  const anyText = fc.string({ unit: 'binary', maxLength: 200 })
  fc.assert(
    fc.property(anyText, fc.integer({ min: 6, max: 40 }), (text, width) => {
      const rows = wrapText(text, width, 2)
      for (const row of rows) {
        expect(widthOf(new SafeText(row))).toBeLessThanOrEqual(width)
        expect(row).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u)
      }
      const visible = (shown: string) => shown.replaceAll(/\s/g, '')
      expect(visible(rows.join(''))).toBe(visible(safely(text).normalize()))
    }),
    { seed: 7, numRuns: 300 },
  )
})

test('a longer line is broken where a shorter one is: the cursor stays where it is typed', () => {
  const typed = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '東', 'é'), maxLength: 60 })
  fc.assert(
    fc.property(typed, typed, fc.integer({ min: 4, max: 20 }), (before, after, width) => {
      const rows = breakText(before, width)
      const all = breakText(before + after, width)
      expect(all.slice(0, rows.length - 1)).toEqual(rows.slice(0, -1))
      expect(all[rows.length - 1]!.startsWith(rows.at(-1)!)).toBe(true)
      for (const row of all) expect(widthOf(row)).toBeLessThanOrEqual(width)
    }),
    { seed: 7, numRuns: 300 },
  )
})
