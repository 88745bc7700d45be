import { expect, test } from 'vitest'
import { Slots } from './connection.ts'

test('runs up to the limit at once, the others in the order they came, also after a failure', async () => {
  const slots = new Slots(2, 60_000, () => new Error('too long'))
  const begun: number[] = []
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const works = gates.map((gate, index) =>
    slots.use(async () => {
      begun.push(index)
      await gate.promise
      return index
    }),
  )
  const settled = Promise.allSettled(works)
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  expect(begun).toEqual([0, 1])
  gates[1]!.reject(new Error('failed'))
  await turn()
  expect(begun).toEqual([0, 1, 2])
  gates[2]!.resolve()
  gates[0]!.resolve()
  await turn()
  expect(begun).toEqual([0, 1, 2, 3, 4])
  for (const gate of gates) gate.resolve()
  expect((await settled).map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  ])
})

test('a caller that waits too long is rejected, and takes no other caller’s turn', async () => {
  const slots = new Slots(1, 20, () => new Error('too long'))
  const gate = Promise.withResolvers<void>()
  const first = slots.use(() => gate.promise)
  await expect(slots.use(async () => 'second')).rejects.toThrow('too long')
  gate.resolve()
  await first
  expect(await slots.use(async () => 'third')).toBe('third')
})
