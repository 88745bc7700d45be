import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '../../../src/client/index.ts'
import type { Finding } from '../../faults/harness/verdict.ts'
import { startChild } from './start-child.ts'

export type StalledOptions = {
  readonly clients: number
  readonly bytes: number
  readonly mostGrowthMb: number
  /** Null where the machine may be busy. */
  readonly mostP99Ms: number | null
}

const pieceBytes = 16 * 1024
const megabyte = 1024 * 1024

/** Clients that open a stream and never read it, while much is published: memory stays bounded, and clients that read get everything in time. */
export async function stalled(options: StalledOptions): Promise<Finding> {
  const { clients, bytes, mostGrowthMb, mostP99Ms } = options
  const folder = mkdtempSync(join(tmpdir(), 'perdure-stalled-'))
  const path = join(folder, 'agents.db')
  const server = await startChild({ path, port: 0, deltas: 1, publish: { bytes, pieceBytes } })
  const sockets: Socket[] = []
  const abort = new AbortController()
  try {
    const chat = createClient({ url: server.url }).conversation('c', { agent: 'helper' })
    await chat.outcome((await chat.send('Warm up.')).turnId)
    for (let n = 0; n < clients; n++) sockets.push(await stalledSocket(server.port))
    const before = await server.state()
    const delays: number[] = []
    const healthy = (async () => {
      for await (const { event } of chat.watch({ signal: abort.signal })) {
        if (event.type === 'tool_progress') delays.push(Date.now() - (event.payload as { at: number }).at)
        if (event.type === 'turn_completed') return
      }
    })()
    const { turnId } = await chat.send('Publish.')
    let peak = before.rss
    const sampling = setInterval(() => {
      server.state().then(
        ({ rss }) => {
          peak = Math.max(peak, rss)
        },
        () => {},
      )
    }, 100)
    await chat.outcome(turnId)
    await healthy
    clearInterval(sampling)
    const after = await server.state()
    peak = Math.max(peak, after.rss)
    const left = after.clients
    const sorted = delays.toSorted((one, other) => one - other)
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
    const growthMb = Math.round((peak - before.rss) / megabyte)
    const pieces = Math.ceil(bytes / pieceBytes)
    return {
      violations: [
        ...(growthMb > mostGrowthMb ? [`memory grew by ${growthMb} MB`] : []),
        ...(mostP99Ms !== null && p99 > mostP99Ms ? [`the p99 of the healthy client was ${p99} ms`] : []),
        ...(delays.length !== pieces ? [`the healthy client got ${delays.length} of ${pieces} pieces`] : []),
      ],
      notExercised: left > clients / 2 ? [`${left} stalled clients are still there`] : [],
      counts: { clients, publishedMb: Math.round(bytes / megabyte), growthMb, p99, pieces: delays.length, left },
    }
  } finally {
    abort.abort()
    for (const socket of sockets) socket.destroy()
    await server.kill()
    rmSync(folder, { recursive: true })
  }
}

/** Asks for the stream and reads no further than its headers. */
async function stalledSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // Being cut off is what it is here for.
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET /conversations/c/live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}
