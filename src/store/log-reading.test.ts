import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { LogReading } from './log-pages.ts'

const read = async () => {}

test('a log is due after a hint past its end, until it was read', async () => {
  const reading = new LogReading(fakeClock())
  expect([reading.isDue(5), reading.isHinted(5)]).toEqual([false, false])
  reading.hint(6)
  reading.hint(4)
  expect([reading.isDue(5), reading.isHinted(5), reading.isDue(6), reading.isDemanded]).toEqual([
    true,
    true,
    false,
    false,
  ])
  await reading.run(read)
  expect(reading.isDue(5)).toBe(false)
})

test('a demanded read is due whatever hints came, until it succeeds', async () => {
  const reading = new LogReading(fakeClock())
  reading.demand()
  expect([reading.isDemanded, reading.isDue(5), reading.isHinted(5)]).toEqual([true, true, false])
  await reading.run(read)
  expect([reading.isDemanded, reading.isDue(5)]).toEqual([false, false])
})

test('a read that fails leaves the log due, and so does a hint during a read', async () => {
  const reading = new LogReading(fakeClock())
  reading.hint(6)
  reading.demand()
  await expect(reading.run(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
  expect([reading.isHinted(5), reading.isDemanded]).toEqual([true, true])
  await reading.run(async () => reading.hint(7))
  expect([reading.isHinted(6), reading.isDemanded]).toEqual([true, false])
})

test('a store that fails is left alone, longer each time until it takes a write, and the log is demanded', async () => {
  const clock = fakeClock()
  const reading = new LogReading(clock)
  await reading.pause()
  reading.hasFailed(new Error('away'))
  expect([reading.isDemanded, reading.waitMs]).toEqual([true, 50])
  let isOver = false
  const pause = reading.pause().then(() => {
    isOver = true
  })
  await clock.advance(49)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await pause
  await reading.run(read)
  expect(reading.waitMs).toBe(0)
  reading.hasFailed(new Error('away'))
  expect(reading.waitMs).toBe(100)
  reading.hasWritten()
  reading.hasFailed(new Error('away'))
  expect(reading.waitMs).toBe(50)
})
