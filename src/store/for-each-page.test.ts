import { expect, test, vi } from 'vitest'
import { forEachPage, yieldToEventLoop } from './log-pages.ts'

test('pages are read until a short one, each after the last row of the one before', async () => {
  const asked: (number | null)[] = []
  const pages = forEachPage<number>(2, (last) => {
    asked.push(last)
    return [1, 2, 3].filter((row) => row > (last ?? 0)).slice(0, 2)
  })
  expect(await collected(pages)).toEqual([1, 2, 3])
  expect(asked).toEqual([null, 2])
})

test('the rest of the process gets its turn, though a backend answers immediately', async () => {
  let turns = 0
  const others = setInterval(() => {
    turns += 1
  }, 1)
  const busy = (last: number | null): number[] => {
    for (const until = performance.now() + 5; performance.now() < until; );
    return last === 20 ? [] : [(last ?? 0) + 1]
  }
  for await (const _ of forEachPage<number>(1, busy));
  clearInterval(others)
  expect(turns).toBeGreaterThan(1)
})

test('of many concurrent readers, one continues before the rest of the process gets its turn', async () => {
  let steps = 0
  let most = 0
  const work = (): void => {
    for (const until = performance.now() + 12; performance.now() < until; );
  }
  const reading = async (): Promise<void> => {
    for (let page = 0; page < 5; page++) {
      await yieldToEventLoop()
      work()
      steps += 1
    }
  }
  const others = setInterval(() => {
    most = Math.max(most, steps)
    steps = 0
  }, 1)
  work()
  await Promise.all(Array.from({ length: 8 }, reading))
  clearInterval(others)
  expect(most).toBeLessThan(4)
})

// The last one: it puts the clock forward a little.
test('a process that was busy for less than ten milliseconds goes on at once', async () => {
  let now = performance.now() + 10
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  const hasYielded = async () => {
    let isNext = false
    setImmediate(() => {
      isNext = true
    })
    await yieldToEventLoop()
    return isNext
  }
  try {
    expect(await hasYielded()).toBe(true)
    expect(await hasYielded()).toBe(false)
    now += 9
    expect(await hasYielded()).toBe(false)
    now += 1
    expect(await hasYielded()).toBe(true)
  } finally {
    clock.mockRestore()
  }
})

async function collected<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const row of rows) all.push(row)
  return all
}
