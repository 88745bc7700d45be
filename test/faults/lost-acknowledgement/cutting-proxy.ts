import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { BackendMessages, endsTransaction } from './backend-messages.ts'

export type CuttingProxy = {
  /** The connection string that leads through the proxy. */
  readonly url: string
  /**
   * The next connection that sends `marker` is cut when the server has ended that transaction, before the client hears of it.
   * Resolves when it was; `call off` when no cut is wanted any more.
   */
  cutAfter(marker: string): { readonly wasCut: Promise<boolean>; callOff(): void }
  close(): Promise<void>
}

type Wanted = { readonly marker: string; readonly settle: (wasCut: boolean) => void }

/** Stands between a client and its Postgres, and takes away the answer to a commit that was made. */
export async function startCuttingProxy(serverUrl: string): Promise<CuttingProxy> {
  const server = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let wanted: Wanted | null = null

  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname)
    const messages = new BackendMessages()
    let asked = ''
    let doomed: Wanted | null = null
    let held: Buffer[] = []
    const cut = (): void => {
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (chunk) => {
      if (wanted && !doomed) {
        // A marker may come in two pieces.
        asked = (asked + chunk.toString('latin1')).slice(-chunk.length - wanted.marker.length)
        if (asked.includes(wanted.marker)) doomed = wanted
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      for (const message of messages.push(chunk)) {
        held.push(message.bytes)
        if (message.type !== 'Z') continue
        if (doomed && doomed === wanted && endsTransaction(message)) {
          wanted = null
          cut()
          doomed.settle(true)
          return
        }
        client.write(Buffer.concat(held))
        held = []
      }
      if (doomed) return
      if (held.length > 0) client.write(Buffer.concat(held))
      held = []
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', cut)
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
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
    cutAfter(marker) {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const request = { marker, settle: resolve }
      wanted = request
      const callOff = (): void => {
        if (wanted === request) wanted = null
        resolve(false)
      }
      return { wasCut: promise, callOff }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
