import { expect, test } from 'vitest'
import { fakeClock } from './fake-clock.ts'

test('time stands still until it is moved', async () => {
  const clock = fakeClock(1_000)
  expect(clock.now()).toBe(1_000)
  await clock.advance(5)
  expect(clock.now()).toBe(1_005)
  await clock.set(900)
  expect(clock.now()).toBe(900)
})

test('what falls due is called in order, each at its own time', async () => {
  const clock = fakeClock(0)
  const called: [string, number][] = []
  for (const [name, delay] of [
    ['late', 30],
    ['early', 10],
    ['also early', 10],
    ['never', 31],
  ] as const) {
    clock.after(delay, () => called.push([name, clock.now()]))
  }
  await clock.advance(30)
  expect(called).toEqual([
    ['early', 10],
    ['also early', 10],
    ['late', 30],
  ])
})

test('a cancelled timer is not called', async () => {
  const clock = fakeClock(0)
  let calls = 0
  const callOff = clock.after(10, () => {
    calls += 1
  })
  callOff()
  await clock.advance(20)
  expect(calls).toBe(0)
})

test('promises settle between two calls, and what they set up is called in its turn', async () => {
  const clock = fakeClock(0)
  const called: string[] = []
  const first = async () => {
    await null
    await null
    called.push('first')
    clock.after(5, () => called.push('from the first'))
  }
  clock.after(10, () => void first())
  clock.after(20, () => called.push('second'))
  await clock.advance(20)
  expect(called).toEqual(['first', 'from the first', 'second'])
})

test('a jump calls late what fell due on the way', async () => {
  const clock = fakeClock(0)
  const called: number[] = []
  const again = () => {
    called.push(clock.now())
    clock.after(10, again)
  }
  clock.after(10, again)
  await clock.set(1_000_000)
  expect(called).toEqual([1_000_000])
})
