import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEvents, type ServerSentEvent } from './watch.ts'

const text =
  ': hello\n\nid: 1\ndata: {"a":"ü🎈"}\n\ndata: x\ndata:y\n\nid: 2\r\nevent: z\r\ndata: end\r\n\r\nretry: 5\n\ndata: cut off'
const events: ServerSentEvent[] = [
  { id: '1', data: '{"a":"ü🎈"}' },
  { id: '1', data: 'x\ny' },
  { id: '2', data: 'end' },
]

test('events are the same whatever pieces they come in', async () => {
  const bytes = new TextEncoder().encode(text)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 30 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length]
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      expect(await read(pieces)).toEqual(events)
    }),
  )
})

test('what does not end with an empty line is no event', async () => {
  expect(await read([new TextEncoder().encode('data: half')])).toEqual([])
})

test('whoever leaves early lets go of the connection', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\ndata: 2\n\n')),
    cancel: () => {
      isCancelled = true
    },
  })
  for await (const _ of readEvents(body)) break
  expect(isCancelled).toBe(true)
})

async function read(pieces: readonly Uint8Array[]): Promise<ServerSentEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
  const seen: ServerSentEvent[] = []
  for await (const together of readEvents(body)) seen.push(...together)
  return seen
}
