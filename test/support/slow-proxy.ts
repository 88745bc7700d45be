import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export type SlowProxy = {
  /** The connection string that leads through the proxy. */
  readonly url: string
  /** How long an answer takes at least, from now on. */
  setRoundTrip(ms: number): void
  close(): Promise<void>
}

/** Stands between a client and its database, as far away as a round trip of so many milliseconds. Keeps the order of what passes. */
export async function startSlowProxy(serverUrl: string, roundTripMs: number): Promise<SlowProxy> {
  const server = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let oneWayMs = roundTripMs / 2

  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      // Timers of one length fire in the order they were set; one that is shorter waits for those before it.
      let last: Promise<unknown> = Promise.resolve()
      const inOrder = (pass: () => void): void => {
        const { promise, resolve } = Promise.withResolvers<void>()
        setTimeout(resolve, oneWayMs)
        last = Promise.all([last, promise]).then(pass)
      }
      from.on('data', (chunk) => inOrder(() => to.writable && to.write(chunk)))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        inOrder(() => to.destroy())
      })
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')

  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as { port: number }).port)
  return {
    url: url.href,
    setRoundTrip: (ms) => {
      oneWayMs = ms / 2
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
