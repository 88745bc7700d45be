import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { createClient } from '../src/client/index.ts'

/** How many deltas a server delivers per second, and with what delay after the model. */
export async function benchServe(args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const watchers = isQuick ? 20 : 100
  const child = fork(new URL('./serve-child.ts', import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }]
    await measure(port, watchers, { deltas: 200, burst: 5 })
    const fast = await measure(port, watchers, { deltas: isQuick ? 1_000 : 10_000, burst: 100 })
    const calm = await measure(port, watchers, { deltas: isQuick ? 200 : 2_000, burst: 1 })
    const figures = {
      watchers,
      deltasPerSecond: Math.round(fast.perSecond),
      addedLatencyMs: { p50: at(calm.delays, 0.5), p99: at(calm.delays, 0.99), max: at(calm.delays, 1) },
      calmDeltasPerSecond: Math.round(calm.perSecond),
    }
    console.log(JSON.stringify(figures))
    if (isQuick) return
    mkdirSync(new URL('results', import.meta.url), { recursive: true })
    writeFileSync(new URL('results/serve.json', import.meta.url), `${JSON.stringify(figures, null, 2)}\n`)
  } finally {
    child.disconnect()
  }
}

let runs = 0

async function measure(port: number, watchers: number, go: { deltas: number; burst: number }) {
  runs += 1
  const chat = createClient({ url: `http://127.0.0.1:${port}` }).conversation(`bench-${runs}`, { agent: 'clock' })
  const first = await chat.send(JSON.stringify({ deltas: 1, burst: 1 }))
  await chat.outcome(first.turnId)
  const readers = await Promise.all(Array.from({ length: watchers }, () => Reader.open(port, chat.id, go.deltas)))
  const begun = performance.now()
  await chat.send(JSON.stringify(go))
  await Promise.all(readers.map((reader) => reader.done))
  const seconds = (performance.now() - begun) / 1000
  for (const reader of readers) reader.close()
  const delays = readers.flatMap((reader) => reader.delays).toSorted((left, right) => left - right)
  return { perSecond: (watchers * go.deltas) / seconds, delays }
}

/** Reads a stream with as little work as possible, so that the server is what is measured. */
class Reader {
  readonly delays: number[] = []
  readonly done: Promise<void>
  readonly #socket: Socket

  private constructor(socket: Socket, deltas: number) {
    this.#socket = socket
    let rest = ''
    this.done = new Promise((resolve, reject) => {
      socket.on('data', (chunk: Buffer) => {
        const now = performance.timeOrigin + performance.now()
        const text = rest + chunk.toString('latin1')
        const end = text.lastIndexOf('\n\n') + 1
        rest = text.slice(end)
        for (const [, said] of text.slice(0, end).matchAll(/"text_delta".*?"delta":"([\d.]+) "/g))
          this.delays.push(now - Number(said))
        if (this.delays.length === deltas) resolve()
      })
      socket.on('close', () => reject(new Error('a watcher was cut off')))
    })
    this.done.catch(() => {})
  }

  static async open(port: number, id: string, deltas: number): Promise<Reader> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET /conversations/${id}/live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    await once(socket, 'data')
    return new Reader(socket, deltas)
  }

  close(): void {
    this.#socket.destroy()
  }
}

function at(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]! * 100) / 100
}
