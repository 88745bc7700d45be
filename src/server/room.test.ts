import { expect, test } from 'vitest'
import { bytesAnswer } from './answer.ts'
import { Room } from './room.ts'

const never = new AbortController().signal
const patient = { signal: never, waitMs: 60_000 }
const answerOf = (bytes: number): Response => bytesAnswer([new Uint8Array(bytes)], {})
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([promise, tick().then(() => 'pending')])) === 'pending'
}

test('who finds no room waits until an answer was taken, in the order they came', async () => {
  const room = new Room({ bytes: 1_000_000 })
  const first = await room.take(600_000, patient)
  const second = room.take(600_000, patient)
  const third = room.take(100, patient)
  expect([await isPending(second), await isPending(third)]).toEqual([true, true])
  const response = first.sending(answerOf(500_000))
  expect(await isPending(second)).toBe(true)
  expect((await response.arrayBuffer()).byteLength).toBe(500_000)
  await second
  await third
  expect(room.taken).toBe(600_100)
})

test('an answer keeps the room it needs, and no more', async () => {
  const room = new Room({ bytes: 1_000_000 })
  const place = await room.take(900_000, patient)
  const response = place.sending(answerOf(200_000))
  expect(room.taken).toBe(200_000)
  await room.take(800_000, patient)
  await response.body?.cancel()
  expect(room.taken).toBe(800_000)
})

test('an empty answer, and one that failed, keep none', async () => {
  const room = new Room({ bytes: 100 })
  ;(await room.take(100, patient)).sending(new Response(null, { status: 204 }))
  ;(await room.take(100, patient)).release()
  expect(room.taken).toBe(0)
})

test('only so many are made at once, however small they are', async () => {
  const room = new Room({ bytes: 1_000_000, atOnce: 2 })
  const [first] = [await room.take(1, patient), await room.take(1, patient)]
  const third = room.take(1, patient)
  expect(await isPending(third)).toBe(true)
  first.sending(answerOf(100_000))
  await third
})

test('one that is larger than all the room is let in when there is nobody else', async () => {
  const room = new Room({ bytes: 100 })
  const place = await room.take(1_000_000, patient)
  expect(await isPending(room.take(1, patient))).toBe(true)
  place.release()
})

test('a client that takes nothing is cut off for those that wait; one that takes something is not', async () => {
  const room = new Room({ bytes: 1_000_000, graceMs: 300 })
  const stalled = (await room.take(500_000, patient)).sending(answerOf(500_000))
  const slow = (await room.take(500_000, patient)).sending(answerOf(500_000))
  const reader = slow.body!.getReader()
  let taken = 0
  const reading = (async () => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      taken += step.value.byteLength
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  })()
  await room.take(500_000, patient)
  await expect(stalled.arrayBuffer()).rejects.toThrow()
  await reading
  expect(taken).toBe(500_000)
})

test('nobody is cut off while there is room', async () => {
  const room = new Room({ bytes: 1_000_000, graceMs: 1 })
  const slow = (await room.take(500_000, patient)).sending(answerOf(500_000))
  await room.take(500_000, patient)
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect((await slow.arrayBuffer()).byteLength).toBe(500_000)
})

test('who waits too long is told so, and who is gone is forgotten', async () => {
  const room = new Room({ bytes: 100 })
  const place = await room.take(100, patient)
  await expect(room.take(1, { signal: never, waitMs: 20 })).rejects.toMatchObject({ code: 'rate_limited' })
  const gone = new AbortController()
  const waiting = room.take(100, { signal: gone.signal, waitMs: 60_000 })
  gone.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'rate_limited' })
  place.release()
  expect(room.taken).toBe(0)
  await room.take(100, patient)
})
