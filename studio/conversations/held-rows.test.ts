import { expect, test } from 'vitest'
import { heldRows } from './held-rows.ts'

const rows = (...ids: string[]) => ids.map((id) => ({ id }))
const ids = ({ rows: held }: { rows: readonly { id: string }[] }) => held.map(({ id }) => id).join('')

test('rows that are held do not move: new ones wait, those that are gone keep their places, and later ones come below', () => {
  const held = heldRows(rows('c', 'b', 'a'), rows('e', 'd', 'c', 'a', 'z'), true)
  expect(ids(held)).toBe('cbaz')
  expect([...held.isOver]).toEqual(['b'])
  expect(held.arrived).toBe(2)
})

test('a held row shows what it has become', () => {
  const before = [{ id: 'a', title: 'old' }]
  expect(heldRows(before, [{ id: 'a', title: 'new' }], true).rows).toEqual([{ id: 'a', title: 'new' }])
})

test('rows that are let go are those of the server', () => {
  const free = heldRows(rows('b', 'a'), rows('c', 'a'), false)
  expect([ids(free), free.isOver.size, free.arrived]).toEqual(['ca', 0, 0])
})
