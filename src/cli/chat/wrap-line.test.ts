import fc from 'fast-check'
import { expect, test } from 'vitest'
import { coloursOf } from '../terminal/text.ts'
import { cells, type Line, line, paintLine, styled, wrapLine } from './line.ts'

const plain = coloursOf(false)

function rowsOf(text: string, width: number, indent = 0): string[] {
  return wrapLine(line(text), width, indent).map((row) => paintLine(row, plain))
}

const table: [string, string, number, number, string[]][] = [
  ['a line that fits is one row', 'to be', 5, 0, ['to be']],
  ['a longer one is broken at a space', 'to be or not', 6, 0, ['to be', 'or not']],
  ['a space at the edge is the break', 'abcd ef', 4, 0, ['abcd', 'ef']],
  ['a word that is too long is cut', 'abcdefgh', 3, 0, ['abc', 'def', 'gh']],
  ['further rows are indented', 'one two three', 6, 2, ['one', '  two', '  thre', '  e']],
  ['line breaks are kept', 'a\n\nb', 9, 1, ['a', ' ', ' b']],
  ['nothing is an empty row', '', 9, 2, ['']],
  ['wide characters take two cells', '東京都', 4, 0, ['東京', '都']],
  ['a flag is one character', '🇨🇭🇨🇭', 2, 0, ['🇨🇭', '🇨🇭']],
  ['an accent takes no cell of its own', 'e\u0301e\u0301', 2, 0, ['e\u0301e\u0301']],
]

test.each(table)('%s', (_, text, width, indent, rows) => {
  expect(rowsOf(text, width, indent)).toEqual(rows)
})

test('styles stay with their text', () => {
  expect(wrapLine([styled('red', 'ab cd'), styled('dim', 'ef')], 5)).toEqual([
    line(styled('red', 'ab')),
    line(styled('red', 'cd'), styled('dim', 'ef')),
  ] satisfies Line[])
})

test('whatever the text, no row is too wide, nothing is lost, and nothing a terminal obeys is left', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.integer({ min: 4, max: 40 }), (text, width) => {
      const rows = wrapLine(line(text), width, 2)
      const painted = rows.map((row) => paintLine(row, plain))
      for (const row of painted) {
        expect(cells(row).reduce((sum, cell) => sum + cell.width, 0)).toBeLessThanOrEqual(width)
        expect(row).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u)
      }
      const wanted = paintLine(wrapLine(line(text), 1_000_000)[0]!, plain)
      if (!text.includes('\n')) expect(painted.join('').replaceAll(' ', '')).toBe(wanted.replaceAll(' ', ''))
    }),
    { seed: 7, numRuns: 300 },
  )
})
