import { expect, test } from 'vitest'
import { bytesAnswer } from './answer.ts'
import { ByteBudget } from './byte-budget.ts'

const never = new AbortController().signal
const patient = { signal: never, waitMs: 60_000 }
const answerOf = (bytes: number): Response => bytesAnswer([new Uint8Array(bytes)], {})
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([promise, tick().then(() => 'pending')])) === 'pending'
}

test('a request waits until a response was received, in the order of arrival', async () => {
  const budget = new ByteBudget({ bytes: 1_000_000 })
  const first = await budget.reserve(600_000, patient)
  const second = budget.reserve(600_000, patient)
  const third = budget.reserve(100, patient)
  expect([await isPending(second), await isPending(third)]).toEqual([true, true])
  const response = first.holdUntilSent(answerOf(500_000))
  expect(await isPending(second)).toBe(true)
  expect((await response.arrayBuffer()).byteLength).toBe(500_000)
  await second
  await third
  expect(budget.reservedBytes).toBe(600_100)
})

test('a response keeps only the memory that it needs', async () => {
  const budget = new ByteBudget({ bytes: 1_000_000 })
  const reservation = await budget.reserve(900_000, patient)
  const response = reservation.holdUntilSent(answerOf(200_000))
  expect(budget.reservedBytes).toBe(200_000)
  await budget.reserve(800_000, patient)
  await response.body?.cancel()
  expect(budget.reservedBytes).toBe(800_000)
})

test('an empty response and a failed one keep no memory', async () => {
  const budget = new ByteBudget({ bytes: 100 })
  ;(await budget.reserve(100, patient)).holdUntilSent(new Response(null, { status: 204 }))
  ;(await budget.reserve(100, patient)).release()
  expect(budget.reservedBytes).toBe(0)
})

test('only so many responses are built at once, however small they are', async () => {
  const budget = new ByteBudget({ bytes: 1_000_000, atOnce: 2 })
  const [first] = [await budget.reserve(1, patient), await budget.reserve(1, patient)]
  const third = budget.reserve(1, patient)
  expect(await isPending(third)).toBe(true)
  first.holdUntilSent(answerOf(100_000))
  await third
})

test('a reservation larger than the whole budget is granted when there is no other', async () => {
  const budget = new ByteBudget({ bytes: 100 })
  const reservation = await budget.reserve(1_000_000, patient)
  expect(await isPending(budget.reserve(1, patient))).toBe(true)
  reservation.release()
})

test('a stalled client is cut off for those that wait; one that makes progress is not', async () => {
  const budget = new ByteBudget({ bytes: 1_000_000, graceMs: 300 })
  const stalled = (await budget.reserve(500_000, patient)).holdUntilSent(answerOf(500_000))
  const slow = (await budget.reserve(500_000, patient)).holdUntilSent(answerOf(500_000))
  const reader = slow.body!.getReader()
  let taken = 0
  const reading = (async () => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      taken += step.value.byteLength
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  })()
  await budget.reserve(500_000, patient)
  await expect(stalled.arrayBuffer()).rejects.toThrow()
  await reading
  expect(taken).toBe(500_000)
})

test('no client is cut off while there is memory', async () => {
  const budget = new ByteBudget({ bytes: 1_000_000, graceMs: 1 })
  const slow = (await budget.reserve(500_000, patient)).holdUntilSent(answerOf(500_000))
  await budget.reserve(500_000, patient)
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect((await slow.arrayBuffer()).byteLength).toBe(500_000)
})

test('a request that waits too long is refused, and one whose client has left is forgotten', async () => {
  const budget = new ByteBudget({ bytes: 100 })
  const reservation = await budget.reserve(100, patient)
  await expect(budget.reserve(1, { signal: never, waitMs: 20 })).rejects.toMatchObject({ code: 'rate_limited' })
  const gone = new AbortController()
  const waiting = budget.reserve(100, { signal: gone.signal, waitMs: 60_000 })
  gone.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'rate_limited' })
  reservation.release()
  expect(budget.reservedBytes).toBe(0)
  await budget.reserve(100, patient)
})
