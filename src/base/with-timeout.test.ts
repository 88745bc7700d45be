import { expect, test, vi } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { afterAwaited, withTimeout } from './clock.ts'

test('work that ends in time is what it comes to, and nothing is left behind', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const clock = fakeClock()
    const late = vi.fn(() => 'late')
    expect(await withTimeout(Promise.resolve('in time'), 50, clock, late)).toBe('in time')
    await expect(withTimeout(Promise.reject(new Error('broken')), 50, clock, late)).rejects.toThrow('broken')
    expect(vi.getTimerCount()).toBe(0)
    await clock.advance(50)
    expect(late).not.toHaveBeenCalled()
  } finally {
    vi.useRealTimers()
  }
})

test('work that takes longer is what was said for that, not before its time', async () => {
  const clock = fakeClock()
  const seen: unknown[] = []
  const work = withTimeout(new Promise<string>(() => {}), 50, clock, () => 'late').then((value) => seen.push(value))
  await clock.advance(49)
  expect(seen).toEqual([])
  await clock.advance(1)
  await work
  expect(seen).toEqual(['late'])
  const refused = withTimeout(new Promise(() => {}), 50, clock, () => {
    throw new Error('too late')
  })
  await Promise.all([expect(refused).rejects.toThrow('too late'), clock.advance(50)])
})

test('work that fails after its time fails unseen', async () => {
  const clock = fakeClock()
  const work = Promise.withResolvers<string>()
  const awaited = withTimeout(work.promise, 50, clock, () => 'late')
  await clock.advance(50)
  expect(await awaited).toBe('late')
  work.reject(new Error('after all'))
  await new Promise((resolve) => setImmediate(resolve))
})

test('the process is kept until the time has passed or was called off, and not longer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const clock = fakeClock()
    afterAwaited(50, clock, () => {})
    const callOff = afterAwaited(50, clock, () => {})
    expect(vi.getTimerCount()).toBe(2)
    callOff()
    expect(vi.getTimerCount()).toBe(1)
    await clock.advance(50)
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
