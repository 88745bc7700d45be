import { allRoutes } from '../../../src/server/routes/all-routes.ts'
import { defaultLimits } from '../../../src/server/server-options.ts'
import type { Store } from '../../../src/store/store.ts'
import { spawnChild } from '../../faults/harness/spawn-child.ts'
import type { Finding } from '../../faults/harness/verdict.ts'
import { fillLarge } from './memory/fill.ts'
import { type Reading, readingsOf, readLarge, readNothing } from './memory/read-large.ts'
import type { LargeInput, LargeMessage } from './memory/serve-large.ts'

export type MemoryOptions = {
  /** Of the store: a path of SQLite, or the URL of a Postgres database. */
  readonly place: string
  readonly store: Store
  /** Of the longest conversation. */
  readonly megabytes: number
  readonly heapMb: number
  readonly readers: number
  /** How many pages each reader asks for. */
  readonly pages: number
}

/** A single event may be larger than an answer otherwise is, and an answer has a little beside what it shows. */
const mostBytes = defaultLimits.answerBytes + 1_200_000

/**
 * A server whose heap is smaller than what it serves: readers at once ask for something large on every route that reads, beside others that ask and take nothing. It
 * lives, and no answer is larger than the limit.
 */
export async function memory(options: MemoryOptions): Promise<Finding> {
  const { place, store, megabytes, heapMb, readers, pages } = options
  const filled = await fillLarge(store, megabytes)
  await store.close()
  const server = await startServer({ place }, heapMb)
  const violations: string[] = []
  const slowest = { name: '', ms: 0 }
  let requests = 0
  let largest = 0
  const idle = await Promise.all(idlePaths.map((path) => readNothing(server.port, path)))
  try {
    for (const reading of readingsOf(allRoutes, filled)) {
      const begun = performance.now()
      const reads = Promise.all(
        Array.from({ length: readersOf(reading, readers) }, () => readLarge(server.port, reading, pages)),
      )
      const read = await Promise.race([reads, server.died]).catch((error: unknown) => String(error))
      if (typeof read === 'string') {
        violations.push(`${reading.name}: ${read}`)
        break
      }
      for (const { statuses, largest: bytes, pages: asked } of read) {
        requests += asked
        largest = Math.max(largest, bytes)
        const refused = statuses.filter((status) => status !== 200 && !isAllowed(reading, status))
        if (refused.length > 0) violations.push(`${reading.name} was answered with ${refused.join(', ')}`)
        if (bytes > mostBytes) violations.push(`${reading.name} has ${bytes} bytes`)
      }
      const ms = Math.round(performance.now() - begun)
      if (ms > slowest.ms) Object.assign(slowest, { name: reading.name, ms })
    }
    const peak = await server.peak().catch(() => null)
    if (!peak) violations.push('the server is gone')
    const counts = {
      megabytes,
      heapLimitMb: heapMb,
      readers,
      requests,
      largest,
      slowest: `${slowest.name}: ${slowest.ms} ms`,
    }
    return { violations, counts: { ...counts, ...(peak ?? {}) } }
  } finally {
    for (const socket of idle) socket.destroy()
    await server.kill()
  }
}

const idlePaths = Array.from({ length: 8 }, () => '/conversations/long/events?limit=1000')

/** Only so much work of operators goes on at once. */
function readersOf({ route }: Reading, readers: number): number {
  return route.isForOperators ? Math.min(2, readers) : readers
}

/** A conversation that no model call was made in has none to show; one without a file does not show that of another. */
function isAllowed({ route, path }: Reading, status: number): boolean {
  const isOfLong = path.includes('/long/')
  if (status === 204) return route.name === 'uiResume'
  return status === 404 && !isOfLong && ['getModelCall', 'explainModelCall', 'readFile'].includes(route.name)
}

async function startServer(input: LargeInput, heapMb: number) {
  let hear: (message: LargeMessage) => void = () => {}
  const next = (): Promise<LargeMessage> =>
    new Promise((resolve) => {
      hear = resolve
    })
  const ready = next()
  const child = spawnChild<LargeMessage>({
    script: new URL('./memory/serve-large.ts', import.meta.url),
    input,
    nodeArguments: [`--max-old-space-size=${heapMb}`],
    onMessage: (message) => hear(message),
  })
  const died = child.ended.then(({ complaint }): never => {
    throw new Error(`the server ended: ${complaint.slice(-300)}`)
  })
  died.catch(() => {})
  const told = await Promise.race([ready, died])
  if (told.type !== 'ready') throw new Error('the server did not begin')
  return {
    port: told.port,
    died,
    async peak() {
      const answer = next()
      child.tell('peak')
      const { type: _, ...peak } = (await Promise.race([answer, died])) as Extract<LargeMessage, { type: 'peak' }>
      return peak
    },
    async kill() {
      child.kill()
      await child.ended
    },
  }
}
