import { expect, test } from 'vitest'
import { coloursOf, table } from './text.ts'

const texts = (...args: Parameters<typeof table>) => table(...args).map(({ text }) => text)

test('columns are as wide as what is in them, whatever its colours', () => {
  const { red } = coloursOf(true)
  expect(
    texts(
      ['ID', 'STATUS', 'TITLE'],
      [
        ['a', red('idle'), 'One'],
        ['long-id', 'ended', ''],
      ],
    ),
  ).toEqual(['ID       STATUS  TITLE', 'a        \u001b[31midle\u001b[39m    One', 'long-id  ended'])
})

test('a cell is one line, and the last column takes the room that is left', () => {
  const rows = [['a', 'many\nlines  of\ttext that go on and on']]
  expect(texts(['ID', 'TEXT'], rows, 20)).toEqual(['ID  TEXT', 'a   many lines of t…'])
  expect(texts(['ID', 'TEXT'], rows)[1]).toBe('a   many lines of text that go on and on')
})
