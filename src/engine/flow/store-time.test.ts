import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { StoreTime } from './running-ops.ts'

test('the time of the store is ours until it is heard, and then runs on by our clock', async () => {
  const clock = fakeClock(1_000)
  const time = new StoreTime(clock)
  expect([time.isKnown, time.now()]).toEqual([false, 1_000])
  time.heard({ at: 1_300 })
  await clock.advance(50)
  expect([time.isKnown, time.now()]).toEqual([true, 1_350])
  time.heard({ at: 900 })
  expect(time.now()).toBe(900)
})

test('a store that tells no time has ours', () => {
  const time = new StoreTime(fakeClock(1_000))
  time.heard({})
  expect([time.isKnown, time.now()]).toEqual([true, 1_000])
})

test('the time of day of this machine does not move it once it is known', async () => {
  const clock = fakeClock(1_000)
  let offMs = 0
  const time = new StoreTime({ ...clock, now: () => clock.now() + offMs })
  time.heard({ at: 1_300 })
  offMs = 20 * 60_000
  await clock.advance(50)
  expect(time.now()).toBe(1_350)
})
