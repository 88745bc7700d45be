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

test('an event that does not end is given up at its limit, in one line or in many, and its connection is let go', async () => {
  for (const piece of ['data: xxxxxxxx', 'data: xxxxxxxx\n']) {
    let pulled = 0
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled += 1
          if (pulled > 1_000) controller.close()
          else controller.enqueue(new TextEncoder().encode(piece))
        },
        cancel() {
          isCancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    await expect(readEvents(body, () => {}, 1_000).next()).rejects.toMatchObject({ code: 'server_unreachable' })
    expect(pulled).toBeLessThan(130)
    expect(isCancelled).toBe(true)
  }
})

test('fields that are not known, and a time to retry that is no number, are passed over', async () => {
  const text = 'unknown: 1\nretry: soon\n\nfoo\ndata: 1\n\nid: a\0b\ndata: 2\n\n'
  expect(await read([new TextEncoder().encode(text)])).toEqual([
    { id: null, data: '1' },
    { id: null, data: '2' },
  ])
})

test('a reader that leaves early lets go of the connection', async () => {
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
