import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { MissingToolTimeouts } from './running-calls.ts'

const ref = { tenant: 't', id: 'c' }

test('a call is left to others for so long from when it was first met, each by itself, whatever the time of day does', async () => {
  const clock = fakeClock()
  const patience = new MissingToolTimeouts(clock, 1_000)
  expect(patience.remainingMs(ref, 'one')).toBe(1_000)
  await clock.advance(400)
  expect(patience.remainingMs(ref, 'one')).toBe(600)
  expect(patience.remainingMs(ref, 'two')).toBe(1_000)
  expect(patience.remainingMs({ tenant: 't', id: 'd' }, 'one')).toBe(1_000)
  await clock.set(clock.now() - 5_000)
  expect(patience.remainingMs(ref, 'one')).toBe(600)
  await clock.advance(700)
  expect(patience.remainingMs(ref, 'one')).toBe(0)
})

test('ten thousand calls are remembered, and then the oldest is met as if for the first time', async () => {
  const clock = fakeClock()
  const patience = new MissingToolTimeouts(clock, 1_000)
  patience.remainingMs(ref, 'oldest')
  await clock.advance(400)
  for (let call = 1; call < 10_000; call++) patience.remainingMs(ref, `call ${call}`)
  expect(patience.remainingMs(ref, 'oldest')).toBe(600)
  patience.remainingMs(ref, 'one more')
  expect(patience.remainingMs(ref, 'call 1')).toBe(1_000)
  expect(patience.remainingMs(ref, 'oldest')).toBe(1_000)
})
