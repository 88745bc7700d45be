import { expect, test, vi } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { afterAwaited, withTimeout } from './clock.ts'

/** How many timers keep the process. */
const keepingTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

/** Whether something that is awaited keeps the process: then one more wait changes nothing. Synchronous, so that no other timer comes or goes meanwhile. */
function isKept(): boolean {
  const before = keepingTimers()
  const callOff = afterAwaited(50, fakeClock(), () => {})
  const after = keepingTimers()
  callOff()
  return after === before
}

test('work that ends in time is what it comes to, and nothing is left behind', async () => {
  const clock = fakeClock()
  const late = vi.fn(() => 'late')
  expect(await withTimeout(Promise.resolve('in time'), 50, clock, late)).toBe('in time')
  await expect(withTimeout(Promise.reject(new Error('broken')), 50, clock, late)).rejects.toThrow('broken')
  expect(isKept()).toBe(false)
  await clock.advance(50)
  expect(late).not.toHaveBeenCalled()
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
  const clock = fakeClock()
  expect(isKept()).toBe(false)
  afterAwaited(50, clock, () => {})
  const callOff = afterAwaited(50, clock, () => {})
  expect(isKept()).toBe(true)
  callOff()
  callOff()
  expect(isKept()).toBe(true)
  await clock.advance(50)
  expect(isKept()).toBe(false)
  afterAwaited(50, clock, () => {})
  expect(isKept()).toBe(true)
  await clock.advance(50)
  expect(isKept()).toBe(false)
})
