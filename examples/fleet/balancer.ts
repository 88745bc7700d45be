/** A load balancer: each request goes to the next node that takes a connection. It knows nothing of conversations. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pipeline } from 'node:stream'

export type Balancer = { readonly url: string; close(): void }

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  let next = 0

  /** A node that is gone refuses the connection at once, and the request has not been sent yet. */
  async function connectToNext(): Promise<Socket | null> {
    for (const _ of ports) {
      const socket = connect(ports[next++ % ports.length]!, '127.0.0.1')
      try {
        await once(socket, 'connect')
        return socket
      } catch {}
    }
    return null
  }

  const server = createServer(async (incoming, outgoing) => {
    const socket = await connectToNext()
    if (!socket) return void outgoing.writeHead(503).end()
    const { method, url: path, headers } = incoming
    const onward = request({ createConnection: () => socket, method, path, headers })
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      // Also where either side dies: a client then connects again, through another node.
      pipeline(answer, outgoing, () => {})
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
