import { expect, test } from 'vitest'
import { nextWaiting, noRows, type SteadyList, steadied, stepFrom } from './steady-list.ts'

type Item = { readonly id: string }
const items = (ids: string): Item[] => [...ids].map((id) => ({ id }))
const take = (before: SteadyList<Item>, ids: string, isHeld = false, staying = ''): SteadyList<Item> =>
  steadied(before, { items: items(ids), keyOf: ({ id }) => id, stays: (key) => staying.includes(key), isHeld })
const rows = ({ rows: shown }: SteadyList<Item>): string =>
  shown.map((row) => (row.isOver ? `(${row.key})` : row.key)).join('')
const arrived = ({ arrived: found }: SteadyList<Item>): string => found.map(({ key }) => key).join('')

test('new rows come where the server has them while the list is free', () => {
  const list = take(take(noRows, 'cba'), 'ecdba')
  expect(rows(list)).toBe('ecdba')
  expect(arrived(list)).toBe('')
})

test('no row comes or goes while the list is held', () => {
  const held = take(take(noRows, 'dcba'), 'fedba', true)
  expect(rows(held)).toBe('d(c)ba')
  expect(arrived(held)).toBe('fe')
  const free = take(held, 'fedba')
  expect(rows(free)).toBe('fedba')
  expect(arrived(free)).toBe('')
})

test('the next page comes below a held list, where it moves nothing', () => {
  expect(rows(take(take(noRows, 'cb'), 'cba', true))).toBe('cba')
})

test('a list that was empty fills although it is held', () => {
  expect(rows(take(noRows, 'ba', true))).toBe('ba')
})

test('a row that is over keeps its place while it has something to say', () => {
  const over = take(take(noRows, 'cba'), 'dca', false, 'b')
  expect(rows(over)).toBe('dc(b)a')
  expect(rows(take(over, 'dca'))).toBe('dca')
})

test('a row that waits again is no longer over', () => {
  const over = take(take(noRows, 'ba'), 'a', true)
  expect(rows(take(over, 'ba', true))).toBe('ba')
})

test('nothing changes where the server says the same', () => {
  const same = items('cba')
  const now = { items: same, keyOf: ({ id }: Item) => id, stays: () => false, isHeld: false }
  const list = steadied<Item>(noRows, now)
  expect(steadied(list, now)).toBe(list)
  expect(steadied(list, { ...now, isHeld: true })).toBe(list)
})

test('after an answer the next row that waits is shown, or the one before it', () => {
  const list = take(take(noRows, 'dcba'), 'dca', false, 'b')
  expect(nextWaiting(list.rows, 'c')).toBe('a')
  expect(nextWaiting(list.rows, 'a')).toBe('c')
  expect(nextWaiting(take(noRows, 'a').rows, 'a')).toBe(null)
})

test('steps end at both ends of the list', () => {
  const { rows: shown } = take(noRows, 'cba')
  expect(stepFrom(shown, null, 1)).toBe('c')
  expect(stepFrom(shown, 'c', -1)).toBe('c')
  expect(stepFrom(shown, 'c', 1)).toBe('b')
  expect(stepFrom(shown, 'b', 9)).toBe('a')
  expect(stepFrom([], 'b', 1)).toBe(null)
})
