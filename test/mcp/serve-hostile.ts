import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Attack, attackText, type Flood, hostileAnswer, neverReads, readAttack } from './hostile.ts'

export type HostileServer = { readonly urlOf: (attack: Attack) => string; close(): Promise<void> }

/** Servers that attack over HTTP, on a real socket: the path says how. */
export async function serveHostile(): Promise<HostileServer> {
  const server = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing, readAttack(decodeURIComponent(String(incoming.url).slice(1))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    urlOf: (attack) => `http://127.0.0.1:${port}/${encodeURIComponent(attackText(attack))}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse, attack: Attack): Promise<void> {
  if (incoming.method !== 'POST') return void outgoing.writeHead(405).end()
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const message = JSON.parse(Buffer.concat(chunks).toString())
  const parts = hostileAnswer(message, attack)
  // What it asked for is answered, and it lets the answers hang.
  if (message.method === undefined && neverReads(attack)) return
  if (parts.length === 0) return void outgoing.writeHead(202).end()
  outgoing.on('error', () => {})
  if (parts[0] === 'failure') return fail(outgoing, attack)
  const isStream = attack.seed % 2 === 0 || parts.length > 1 || attack.kind.startsWith('flood')
  outgoing.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  for (const part of parts) {
    if (typeof part === 'object') return pour(outgoing, part)
    outgoing.write(isStream ? `event: message\ndata: ${part}\n\n` : part)
  }
  outgoing.end()
}

function fail(outgoing: ServerResponse, { seed }: Attack): void {
  const [status = 500, headers = {}] = (
    [
      [500, {}],
      [404, {}],
      [401, { 'www-authenticate': 'Bearer resource_metadata="http://169.254.169.254/latest"' }],
      [403, { 'www-authenticate': 'Bearer error="insufficient_scope"' }],
      [429, { 'retry-after': '0' }],
      [307, { location: 'http://169.254.169.254/latest' }],
      [302, { location: '/mcp' }],
      [200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }],
    ] as const
  )[seed % 8]!
  outgoing.writeHead(status, headers).end('<p>x'.repeat(500_000))
}

function pour(outgoing: ServerResponse, { flood, everyMs }: Flood): void {
  if (everyMs !== undefined) {
    const timer = setInterval(() => (outgoing.destroyed ? clearInterval(timer) : outgoing.write(flood)), everyMs)
    return
  }
  const event = flood.endsWith('\n') ? `event: message\ndata: ${flood}\n` : flood
  const chunk = event.repeat(Math.ceil(65_536 / event.length))
  const more = (): void => {
    while (!outgoing.destroyed && outgoing.write(chunk));
    if (!outgoing.destroyed) outgoing.once('drain', more)
  }
  more()
}
