import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A way to a server that can be cut. */
export type CuttableLine = {
  readonly url: string
  /** Breaks all connections, and refuses others. */
  cut(): Promise<void>
  /** Connections are made again, at the same address. */
  mend(): Promise<void>
}

export async function cuttableLine(serverUrl: string): Promise<CuttableLine> {
  const port = Number(new URL(serverUrl).port)
  const sockets = new Set<Socket>()
  const listen = async (at: number): Promise<Server> => {
    const server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from)
        from.on('error', () => {})
        from.on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server = await listen(0)
  const own = (server.address() as { port: number }).port
  return {
    url: `http://127.0.0.1:${own}`,
    async cut() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
    async mend() {
      server = await listen(own)
    },
  }
}
