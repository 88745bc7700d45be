import { expect, test } from 'vitest'
import { Subscription } from './subscription.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (chunk: Uint8Array | null): string | null => chunk && new TextDecoder().decode(chunk)

/** A log that a client reads a page at a time. `isLeft` once it is read no further. */
function pages(count: number) {
  const log = { isLeft: false }
  async function* read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (let page = 1; page <= count; page++) yield bytes(`page ${page} `)
    } finally {
      log.isLeft = true
    }
  }
  return { log, read: read() }
}

test('a stream that is cut off sends nothing of what its client has not taken yet', async () => {
  const { log, read } = pages(10)
  const subscription = new Subscription(1_000, read, () => {})
  subscription.push(bytes('live'))
  expect(text(await subscription.read())).toBe('page 1 ')
  subscription.cut()
  expect(await subscription.read()).toBe(null)
  expect(log.isLeft).toBe(true)
})

test('a page that was being read when the stream was cut off is not sent', async () => {
  const arriving = Promise.withResolvers<void>()
  async function* late(): AsyncGenerator<Uint8Array, void, void> {
    await arriving.promise
    yield bytes('late')
  }
  const subscription = new Subscription(1_000, late(), () => {})
  const reading = subscription.read()
  subscription.cut()
  arriving.resolve()
  expect(await reading).toBe(null)
})

test('a stream that ends sends what its client has not taken yet', async () => {
  const { read } = pages(2)
  const subscription = new Subscription(1_000, read, () => {})
  subscription.push(bytes('live'))
  subscription.end()
  const sent = [await subscription.read(), await subscription.read(), await subscription.read()].map(text)
  expect([...sent, await subscription.read()]).toEqual(['page 1 ', 'page 2 ', 'live', null])
})

test('frames that are sent at once count as one, which may be larger than what may wait', async () => {
  let isDropped = false
  const subscription = new Subscription(10, null, () => {})
  subscription.onDrop = () => {
    isDropped = true
  }
  subscription.push(bytes('a turn of many bytes '), bytes('and its end'))
  expect(isDropped).toBe(false)
  expect(text(await subscription.read())).toBe('a turn of many bytes and its end')
  subscription.push(bytes('waits'))
  subscription.push(bytes('for '), bytes('long'))
  expect(isDropped).toBe(true)
})
