import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'

const dayMs = 24 * 60 * 60 * 1_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('the system clock calls back', () => {
  test.each([
    ['a moment', 1],
    ['the longest delay of one timer', 2 ** 31 - 1],
    ['a millisecond more than that', 2 ** 31],
    ['thirty days', 30 * dayMs],
    ['a year', 365 * dayMs],
  ])('after %s: not before, then once', (_, delayMs) => {
    const callback = vi.fn()
    systemClock.after(delayMs, callback)
    vi.advanceTimersByTime(delayMs - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(365 * dayMs)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test('after a part of a millisecond: not before', () => {
    const callback = vi.fn()
    systemClock.after(1.5, callback)
    vi.advanceTimersByTime(1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test('soon when the time has passed already', () => {
    const callback = vi.fn()
    systemClock.after(-5, callback)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test.each([5, 30 * dayMs])('never when it was called off (%d ms)', (delayMs) => {
    const callback = vi.fn()
    const callOff = systemClock.after(delayMs, callback)
    vi.advanceTimersByTime(delayMs - 1)
    callOff()
    vi.advanceTimersByTime(365 * dayMs)
    expect(callback).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('the system clock tells the time of day', () => {
  vi.setSystemTime(1_234)
  expect(systemClock.now()).toBe(1_234)
})

test('a waiting callback does not keep the process alive', () => {
  vi.useRealTimers()
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const callOff = systemClock.after(30 * dayMs, () => {})
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBe(before)
  callOff()
})
