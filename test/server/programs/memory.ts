import { allRoutes } from '../../../src/server/routes/all-routes.ts'
import { defaultLimits } from '../../../src/server/server-options.ts'
import type { Store } from '../../../src/store/store.ts'
import { spawnChild } from '../../faults/harness/spawn-child.ts'
import type { Finding } from '../../faults/harness/verdict.ts'
import { fillLarge, type LargeKind, largeKinds } from './memory/fill.ts'
import { isExamination, type Read, type Reading, readingsOf, readLarge, readNothing } from './memory/read-large.ts'
import type { LargeInput, LargeMessage, Peak } from './memory/serve-large.ts'

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
  /** Default: all. */
  readonly kinds?: readonly LargeKind[]
  /** In each result of the conversation of many small values. Default: 300,000, of which an event can hold no more. */
  readonly shatteredValues?: number
  /** A stream that says nothing for so long has shown enough. Default: 2,000. */
  readonly silentMs?: number
  /** Hears of each reading when it is over: the whole takes minutes. */
  readonly tell?: (line: string) => void
}

/** A single event may be larger than an answer otherwise is, and an answer has a little beside what it shows. */
const mostBytes = defaultLimits.answerBytes + 1_200_000

/**
 * A server whose heap is smaller than what it serves: readers at once ask for something large on every route that reads, beside others that ask and take nothing; and
 * one reads all of the longest conversation. It lives, and no answer is larger than the limit.
 */
export async function memory(options: MemoryOptions): Promise<Finding> {
  const { place, store, megabytes, heapMb, readers, pages, kinds = largeKinds, silentMs = 2_000, tell } = options
  const filled = await fillLarge(store, { megabytes, kinds, shatteredValues: options.shatteredValues ?? 300_000 })
  await store.close()
  tell?.(`filled with ${megabytes} MB`)
  const server = await startServer({ place }, heapMb)
  const violations: string[] = []
  const routes = new Map<string, Costs>()
  const idle = await Promise.all(idlePaths.map((path) => readNothing(server.port, path)))
  try {
    const all = readingsOf(allRoutes, filled)
    const tasks = [
      ...all.map((reading) => ({ reading, readers: readersOf(reading, readers), pages, silentMs })),
      ...all
        .filter(isReadThrough)
        .map((reading) => ({ reading, readers: 1, pages: Number.POSITIVE_INFINITY, silentMs })),
    ]
    for (const task of tasks) {
      const read = await measured(server, task).catch((error: unknown) => String(error))
      const { name } = task.reading
      if (typeof read === 'string') {
        violations.push(`${name}: ${read}`)
        tell?.(`${name}: ${read}`)
        if (server.isGone()) break
        continue
      }
      violations.push(...wrongWith(task.reading, read.reads))
      const bytes = read.reads.reduce((sum, one) => sum + one.bytes, 0)
      if (task.pages === Number.POSITIVE_INFINITY && bytes < megabytes * 1_000_000)
        violations.push(`${name} ended after ${bytes} bytes`)
      const key = task.pages === pages ? task.reading.route.name : `all pages of ${name}`
      routes.set(key, worst(routes.get(key), read.costs))
      tell?.(`${name}: ${shown(read.costs)}`)
    }
    const whole = [...routes.values()].reduce<Costs | undefined>(worst, undefined)
    const counts = { megabytes, heapLimitMb: heapMb, readers, all: whole ? shown(whole) : 'nothing was read' }
    return { violations, counts: { ...counts, routes: Object.fromEntries([...routes].map(([k, v]) => [k, shown(v)])) } }
  } finally {
    for (const socket of idle) socket.destroy()
    await server.kill()
  }
}

const idlePaths = Array.from({ length: 8 }, () => '/conversations/long/events?limit=1000')

/** What is read to its end once. */
function isReadThrough({ route, path }: Reading): boolean {
  return ['readEvents', 'readHistory'].includes(route.name) && path.includes('/long/')
}

/** What a reading took of the server, at its worst. */
type Costs = Peak & {
  readonly statuses: string
  readonly largest: number
  readonly requests: number
  readonly ms: number
}

type Task = { readonly reading: Reading; readonly readers: number; readonly pages: number; readonly silentMs: number }

async function measured(
  server: Server,
  { reading, readers, ...bounds }: Task,
): Promise<{ reads: Read[]; costs: Costs }> {
  const begun = performance.now()
  const asked = Promise.all(Array.from({ length: readers }, () => readLarge(server.port, reading, bounds)))
  const reads = await Promise.race([asked, server.died])
  const peak = await server.peak()
  const ms = Math.round(performance.now() - begun)
  const statuses = [...new Set(reads.flatMap((read) => read.statuses))].join(' ')
  const largest = Math.max(...reads.map((read) => read.largest))
  const requests = reads.reduce((sum, read) => sum + read.statuses.length, 0)
  return { reads, costs: { ...peak, statuses, largest, requests, ms } }
}

function wrongWith(reading: Reading, reads: readonly Read[]): string[] {
  return reads.flatMap(({ statuses, largest, end }) => {
    const refused = statuses.filter((status) => status !== 200 && !isAllowed(reading, status))
    return [
      ...(refused.length > 0 ? [`${reading.name} was answered with ${refused.join(', ')}`] : []),
      ...(isExamination(reading.route) && !end.includes('"type":"result"')
        ? [`${reading.name} broke off: ${end}`]
        : []),
      ...(largest > mostBytes ? [`${reading.name} has ${largest} bytes`] : []),
    ]
  })
}

function worst(one: Costs | undefined, other: Costs): Costs {
  if (!one) return other
  return {
    statuses: [...new Set(`${one.statuses} ${other.statuses}`.split(' '))].join(' '),
    largest: Math.max(one.largest, other.largest),
    requests: one.requests + other.requests,
    heapMb: Math.max(one.heapMb, other.heapMb),
    rssMb: Math.max(one.rssMb, other.rssMb),
    blockedMs: Math.max(one.blockedMs, other.blockedMs),
    ms: one.ms + other.ms,
  }
}

function shown({ statuses, largest, requests, heapMb, rssMb, blockedMs, ms }: Costs): string {
  return `${requests} answers (${statuses}) up to ${largest} bytes in ${ms} ms; heap ${heapMb} MB, rss ${rssMb} MB, loop blocked ${blockedMs} ms`
}

/** Only so much work of operators goes on at once. */
function readersOf({ route }: Reading, readers: number): number {
  if (!route.isForOperators) return readers
  return Math.min(isExamination(route) ? defaultLimits.upkeep : 2, readers)
}

/** A conversation that no model call was made in has none to show; one without a file does not show that of another. */
function isAllowed({ route, path }: Reading, status: number): boolean {
  const isOfLong = path.includes('/long/')
  if (status === 204) return route.name === 'uiResume'
  return status === 404 && !isOfLong && ['getModelCall', 'explainModelCall', 'readFile'].includes(route.name)
}

type Server = Awaited<ReturnType<typeof startServer>>

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
  let isGone = false
  died.catch(() => {
    isGone = true
  })
  const told = await Promise.race([ready, died])
  if (told.type !== 'ready') throw new Error('the server did not begin')
  return {
    port: told.port,
    died,
    isGone: () => isGone,
    /** Since it was asked last. */
    async peak(): Promise<Peak> {
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
