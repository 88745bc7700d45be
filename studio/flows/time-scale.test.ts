import { expect, test } from 'vitest'
import { timeScale } from './time-scale.ts'

const work = (from: number, to: number) => ({ from, to, isWait: false })
const wait = (from: number, to: number) => ({ from, to, isWait: true })

test('work is drawn to scale', () => {
  const { place, folds } = timeScale([work(0, 100), work(100, 400)])
  expect([place(0), place(100), place(250), place(400)]).toEqual([0, 0.25, 0.625, 1])
  expect(folds).toEqual([])
})

test('a wait longer than the work around it is folded to a fixed width', () => {
  const { place, folds } = timeScale([work(0, 100), wait(100, 1_000_000), work(1_000_000, 1_000_100)])
  expect(folds).toEqual([{ from: 100, to: 1_000_000, start: expect.closeTo(0.44), end: expect.closeTo(0.56) }])
  expect(place(1_000_100)).toBeCloseTo(1)
})

test('a wait during which something else works is not folded there', () => {
  const { folds } = timeScale([wait(0, 1_000), work(0, 1_000)])
  expect(folds).toEqual([])
})

test('a short wait stays to scale', () => {
  expect(timeScale([work(0, 100), wait(100, 200)]).place(100)).toBeCloseTo(0.5)
})

test('many waits leave room for the work', () => {
  const intervals = Array.from({ length: 40 }, (_, index) => [
    work(index * 1_000_000, index * 1_000_000 + 10),
    wait(index * 1_000_000 + 10, (index + 1) * 1_000_000),
  ]).flat()
  const { folds } = timeScale(intervals)
  expect(folds.length).toBe(40)
  expect(folds.reduce((sum, { start, end }) => sum + end - start, 0)).toBeCloseTo(0.6)
})

test('a session that has only waited fills the width, and nothing has no width', () => {
  expect(timeScale([wait(0, 5_000)]).place(5_000)).toBe(1)
  expect(timeScale([]).place(3)).toBe(0)
  expect(timeScale([wait(7, 7)]).place(7)).toBe(0)
})
