import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { sendResponse } from './to-node-listener.ts'

/** Takes whatever it is given at once, in so long. */
class Eager extends EventEmitter {
  readonly destroyed = false
  written = 0

  writeHead(): void {}
  flushHeaders(): void {}
  end(): void {}
  destroy(): void {}

  write(piece: Uint8Array): boolean {
    for (const until = performance.now() + 3; performance.now() < until; );
    this.written += piece.byteLength
    return true
  }
}

test('a client that takes everything at once does not have the process to itself', async () => {
  let turns = 0
  const others = setInterval(() => {
    turns += 1
  }, 1)
  const outgoing = new Eager()
  let pieces = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pieces += 1
      if (pieces > 50) controller.close()
      else controller.enqueue(new Uint8Array(10))
    },
  })
  await sendResponse(new Response(body), outgoing as unknown as ServerResponse, 60_000)
  clearInterval(others)
  expect(outgoing.written).toBe(500)
  expect(turns).toBeGreaterThan(3)
})
