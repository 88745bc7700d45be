import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export type FaultyProxy = {
  /** The connection string that leads through the proxy. */
  readonly url: string
  /** Connections that are open now, in the order they were made. */
  readonly open: number
  /** From now on nothing passes on the connections that are open now; both ends take them for open. New ones work. */
  freeze(): void
  /** Breaks the connections that are open now. New ones work. */
  cut(): void
  /** New connections pass everything until the client sends `marker`; from then on nothing passes on them. Null: no more of that. */
  hangNewAt(marker: string | null): void
  close(): Promise<void>
}

/** Stands between a client and its Postgres, and lets connections go silent without closing them, as a lost route does. */
export async function startFaultyProxy(serverUrl: string): Promise<FaultyProxy> {
  const server = new URL(serverUrl)
  const links = new Set<{ isSilent: boolean }>()
  const sockets = new Set<Socket>()
  let hangMarker: string | null = null

  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname)
    const link = { isSilent: false }
    const marker = hangMarker
    links.add(link)
    const forward = (from: Socket, to: Socket, watch: boolean): void => {
      from.on('data', (chunk) => {
        if (watch && marker !== null && chunk.includes(marker)) link.isSilent = true
        if (!link.isSilent) to.write(chunk)
      })
    }
    forward(client, upstream, true)
    forward(upstream, client, false)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        links.delete(link)
        client.destroy()
        upstream.destroy()
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
    get open() {
      return links.size
    },
    freeze() {
      for (const link of links) link.isSilent = true
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    hangNewAt(marker) {
      hangMarker = marker
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
