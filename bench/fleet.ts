import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type RunningPostgres, startPostgres } from '../test/setup/start-postgres.ts'
import type { ChildReport, Command, Role } from './fleet-messages.ts'

type Figures = Extract<ChildReport, { type: 'figures' }>

/** Workers behind API nodes, each a process of its own, over one Postgres; `roundTripMs`: the distance of the workers and API nodes from it. */
class Fleet {
  readonly #url: string
  readonly #children = new Set<ChildProcess>()
  readonly workers: ChildProcess[] = []
  readonly apis: ChildProcess[] = []

  constructor(url: string) {
    this.#url = url
  }

  async start(workers: number, apis: number, options: Partial<Role & { roundTripMs: number }> = {}): Promise<void> {
    const { roundTripMs = 0 } = options
    const settings = { leaseMs: 10_000, maxConcurrentTurns: 256, expiresInMs: 3_600_000, holds: false, ...options }
    const one = async (type: 'worker' | 'api'): Promise<ChildProcess> => {
      const url = roundTripMs === 0 ? this.#url : (await this.#fork({ type: 'proxy', url: this.#url, roundTripMs })).url
      return (await this.#fork({ ...settings, type, url })).child
    }
    for (let n = 0; n < workers; n++) this.workers.push(await one('worker'))
    for (let n = 0; n < apis; n++) this.apis.push(await one('api'))
  }

  async #fork(role: Role): Promise<{ child: ChildProcess; url: string }> {
    const child = fork(new URL('fleet-child.ts', import.meta.url), [JSON.stringify(role)], {
      execArgv: ['--disable-warning=ExperimentalWarning', ...profiling(role)],
    })
    this.#children.add(child)
    const [report] = (await once(child, 'message')) as [ChildReport]
    if (report.type !== 'ready') throw new Error(`a node began with ${JSON.stringify(report)}`)
    return { child, url: report.url }
  }

  /** Each API node does its part; returns what all of them measured. */
  async onApis(command: (n: number, of: number) => Command): Promise<number[]> {
    const all = await Promise.all(this.apis.map((child, n) => ask(child, command(n, this.apis.length))))
    return all.flatMap((report) => (report.type === 'done' ? report.took : []))
  }

  async figures(children: readonly ChildProcess[]): Promise<Figures[]> {
    return Promise.all(children.map((child) => ask(child, { type: 'report' }) as Promise<Figures>))
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#children].map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, 'exit')
        child.disconnect()
        await ended
      }),
    )
  }
}

async function ask(child: ChildProcess, command: Command): Promise<ChildReport> {
  child.send(command)
  const [report] = (await once(child, 'message')) as [ChildReport]
  if (report.type === 'failed') throw new Error(report.message)
  return report
}

/** `PERDURE_PROFILE=folder`: where the workers write their CPU profiles. */
function profiling({ type }: Role): string[] {
  const folder = process.env['PERDURE_PROFILE']
  return folder && type !== 'proxy'
    ? ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${type}-\${pid}.cpuprofile`]
    : []
}

/** `goals`: what must be true of the figures. A run that is not quick fails where one is not. */
type Part = { readonly goals: Readonly<Record<string, boolean>>; readonly [figure: string]: unknown }

const parts: Readonly<Record<string, (server: RunningPostgres, isQuick: boolean) => Promise<Part>>> = {
  throughput,
  latency,
  deadlines,
  takeover,
  idle,
}

/** `npm run bench -- fleet [--quick] [--only throughput|latency|deadlines|takeover|idle]` */
export async function benchFleet(args: readonly string[]): Promise<void> {
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
  for (const [name, part] of Object.entries(parts)) {
    if (only !== undefined && only !== name) continue
    // Enough for hundreds of thousands of small rows, as a server that is not shared would have.
    const server = await startPostgres({ settings: { shared_buffers: '256MB' } })
    try {
      const isQuick = args.includes('--quick')
      const { goals, ...figures } = await part(server, isQuick)
      const missed = Object.keys(goals).filter((goal) => !goals[goal])
      console.log(JSON.stringify({ [name]: figures, load: loadavg()[0], ...(isQuick ? {} : { missed }) }, null, 1))
      if (!isQuick && missed.length > 0) process.exitCode = 1
    } finally {
      await server.destroy()
    }
  }
}

type Rate = { readonly turns: number; readonly statementsATurn: number; readonly [figure: string]: unknown }
type RateRow = Rate & { readonly agent: string; readonly roundTripMs: number; readonly workers: number }

async function throughput(server: RunningPostgres, isQuick: boolean): Promise<Part> {
  const rows: RateRow[] = []
  for (const agent of ['talks', 'looks']) {
    for (const roundTripMs of [0, 4]) {
      const lanes = roundTripMs === 0 ? 64 : 128
      for (const workers of [1, 2, 3]) {
        const row = await withFleet(server, workers, 2, { roundTripMs }, (fleet) =>
          rateOf(fleet, lanes, agent, isQuick),
        )
        rows.push({ agent, roundTripMs, lanes, workers, ...row })
        console.log(JSON.stringify(rows.at(-1)))
      }
    }
  }
  const rate = (agent: string, roundTripMs: number, workers: number): number =>
    rows.find((row) => row.agent === agent && row.roundTripMs === roundTripMs && row.workers === workers)!.turns
  return {
    turnsPerSecond: rows,
    goals: {
      'one worker: 1,000 turns a second': rate('talks', 0, 1) >= 1_000,
      'at most 6 statements a turn': rows.every(({ statementsATurn }) => statementsATurn <= 6),
      'more workers are never slower': ['talks', 'looks'].every(
        (agent) => rate(agent, 0, 3) >= rate(agent, 0, 2) && rate(agent, 0, 2) >= rate(agent, 0, 1),
      ),
      'three workers are 2.5 times one, 4 ms away': ['talks', 'looks'].every(
        (agent) => rate(agent, 4, 3) >= 2.5 * rate(agent, 4, 1),
      ),
    },
  }
}

async function rateOf(fleet: Fleet, lanes: number, agent: string, isQuick: boolean): Promise<Rate> {
  const ms = isQuick ? 2_000 : 6_000
  const run = (prefix: string, forMs: number) =>
    fleet.onApis((n, of) => ({ type: 'lanes', lanes: lanes / of, ms: forMs, agent, prefix: `${agent}-${prefix}-${n}` }))
  await run('warm', isQuick ? 1_500 : 4_000)
  await fleet.figures([...fleet.workers, ...fleet.apis])
  const start = performance.now()
  const took = await run('run', ms)
  const seconds = (performance.now() - start) / 1_000
  const workers = await fleet.figures(fleet.workers)
  const apis = await fleet.figures(fleet.apis)
  const cores = (list: readonly Figures[]) => round(list.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / 1_000 / seconds)
  const statements = (list: readonly Figures[]) =>
    round(list.reduce((sum, one) => sum + one.statements, 0) / took.length)
  return {
    turns: Math.round(took.length / seconds),
    statementsATurn: round(statements(workers) + statements(apis)),
    ofWorkers: statements(workers),
    coresOfWorkers: cores(workers),
    coresOfApis: cores(apis),
    turnMs: percentiles(took),
    shareOfEachWorker: workers.map(({ begun }) => round(begun.length / took.length)),
  }
}

async function latency(server: RunningPostgres, isQuick: boolean): Promise<Part> {
  return withFleet(server, 2, 1, {}, async (fleet) => {
    const ms = isQuick ? 2_000 : 5_000
    const lanes = (prefix: string) => fleet.onApis(() => ({ type: 'lanes', lanes: 64, ms, agent: 'talks', prefix }))
    await lanes('warm')
    const peak = ((await lanes('peak')).length * 1_000) / ms
    await fleet.figures(fleet.workers)
    const perSecond = Math.max(1, Math.round(peak / 2))
    await fleet.onApis(() => ({ type: 'rate', perSecond, ms: 2 * ms, agent: 'talks', prefix: 'half' }))
    const begun = (await fleet.figures(fleet.workers)).flatMap((one) => one.begun)
    const sendToModelMs = percentiles(begun)
    const goals = { 'p50 below 5 ms': sendToModelMs.p50 < 5, 'p99 below 20 ms': sendToModelMs.p99 < 20 }
    return { peak: Math.round(peak), perSecond, sendToModelMs, goals }
  })
}

async function deadlines(server: RunningPostgres, isQuick: boolean): Promise<Part> {
  const count = isQuick ? 500 : 5_000
  return withFleet(server, 3, 1, {}, async (fleet) => {
    await fleet.onApis(() => ({ type: 'send', from: 0, to: count, agent: 'asks', prefix: 'ask', text: 'go' }))
    const rows = async (text: string): Promise<Record<string, string>[]> => await query(server, text)
    const pending = async () =>
      Number((await rows(`SELECT count(*) FROM perdure.calls WHERE status = 'pending'`))[0]!['count'])
    while ((await pending()) < count) await sleep(200)
    await query(
      server,
      `UPDATE perdure.calls SET expires_at = floor(extract(epoch FROM clock_timestamp()) * 1000) + 3000 + (random() * 1000)::bigint WHERE status = 'pending'`,
    )
    const ended = `SELECT count(*) FROM perdure.conversations WHERE status = 'idle'`
    const start = performance.now()
    // Seldom: counting costs the database as much as many turns.
    while (Number((await rows(ended))[0]!['count']) < count && performance.now() - start < 60_000) await sleep(1_000)
    const late = await rows(`SELECT e.at - c.expires_at AS ms FROM perdure.calls c
      JOIN LATERAL (SELECT at FROM perdure.events e WHERE e.tenant = c.tenant AND e.conversation_id = c.conversation_id AND e.type = 'turn_ended' LIMIT 1) e ON true`)
    const twice = await rows(
      `SELECT count(*) FROM (SELECT 1 FROM perdure.events WHERE type = 'resolution' GROUP BY tenant, conversation_id HAVING count(*) <> 1) t`,
    )
    const notOnce = Number(twice[0]!['count'])
    const turnEndMs = percentiles(late.map(({ ms }) => Number(ms)))
    const goals = { 'each once': late.length === count && notOnce === 0, 'p99 below 3 s': turnEndMs.p99 < 3_000 }
    return { count, ended: late.length, notOnce, turnEndMs, goals }
  })
}

async function takeover(server: RunningPostgres, isQuick: boolean): Promise<Part> {
  const count = isQuick ? 50 : 500
  const leaseMs = 5_000
  return withFleet(server, 1, 1, { holds: true, maxConcurrentTurns: count, leaseMs }, async (fleet) => {
    await fleet.onApis(() => ({ type: 'send', from: 0, to: count, agent: 'talks', prefix: 'held', text: 'go' }))
    const [victim] = fleet.workers
    for (let held = 0; held < count; ) {
      await sleep(100)
      held += (await fleet.figures([victim!]))[0]!.begun.length
    }
    fleet.workers.splice(0)
    await fleet.start(2, 0, { leaseMs })
    // Those that go on have worked before, as in any fleet; the victim has no room.
    await fleet.onApis(() => ({ type: 'lanes', lanes: 32, ms: 1_500, agent: 'talks', prefix: 'warm' }))
    await fleet.figures(fleet.workers)
    victim!.kill('SIGKILL')
    const killed = performance.now()
    const endings: number[] = []
    while (endings.length < count && performance.now() - killed < 60_000) {
      await sleep(20)
      for (const { begun } of await fleet.figures(fleet.workers))
        for (const _ of begun) endings.push(performance.now() - killed)
    }
    // Each has begun and ended by then, and none has begun a second time.
    const ended = `SELECT count(DISTINCT conversation_id) FROM perdure.events WHERE type = 'turn_ended' AND conversation_id LIKE 'held-%'`
    const endedOf = async () => Number((await query<{ count: string }>(server, ended))[0]!.count)
    while ((await endedOf()) < count && performance.now() - killed < 60_000) await sleep(100)
    const again = (await fleet.figures(fleet.workers)).flatMap(({ begun }) => begun).length
    const begunAfterKillMs = percentiles(endings)
    const goals = {
      'all, and each once': endings.length === count && again === 0 && (await endedOf()) === count,
      'below leaseMs and 1 s': begunAfterKillMs.max < leaseMs + 1_000,
    }
    return { held: count, leaseMs, takenOver: endings.length, begunAfterKillMs, goals }
  })
}

async function idle(server: RunningPostgres, isQuick: boolean): Promise<Part> {
  const parked = isQuick ? 2_000 : 100_000
  const watchers = isQuick ? 200 : 10_000
  return withFleet(server, 2, 1, {}, async (fleet) => {
    await fleet.onApis(() => ({ type: 'send', from: 0, to: 1, agent: 'asks', prefix: 'parked', text: 'go' }))
    await sleep(1_000)
    await query(server, copiesOf(parked))
    await fleet.onApis(() => ({ type: 'watch', from: 1, to: watchers + 1, prefix: 'parked-0' }))
    // What the views have read is told, and polls have begun.
    await sleep(2_000)
    const all = [...fleet.workers, ...fleet.apis]
    await fleet.figures(all)
    const seconds = 30
    await sleep(seconds * 1_000)
    const [first, second, api] = await fleet.figures(all)
    const each = ({ statements, cpuMs }: Figures) => ({
      queriesPerSecond: round(statements / seconds),
      cpuShare: round(cpuMs / 1_000 / seconds),
    })
    const [workers, apis] = [[each(first!), each(second!)], each(api!)]
    const isFew = [...workers, apis].every(({ queriesPerSecond }) => queriesPerSecond <= 4)
    return { parked, watchers, workers, api: apis, goals: { 'at most 4 queries a second': isFew } }
  })
}

/** Rows of parked conversations, made by the database: sending to so many takes minutes. */
function copiesOf(count: number): string {
  const copies = (
    table: string,
    columns: string,
    id: string,
  ) => `INSERT INTO perdure.${table} SELECT (json_populate_record(t,
    json_build_object(${columns}))).* FROM perdure.${table} t, generate_series(1, ${count}) n WHERE t.${id} = 'parked-0'`
  return [
    copies('conversations', "'id', 'parked-0-' || n", 'id'),
    copies('events', "'conversation_id', 'parked-0-' || n", 'conversation_id'),
    copies('calls', "'conversation_id', 'parked-0-' || n, 'id', t.id || n", 'conversation_id'),
  ].join(';')
}

async function withFleet<T>(
  server: RunningPostgres,
  workers: number,
  apis: number,
  options: Parameters<Fleet['start']>[2],
  work: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const fleet = new Fleet(server.url)
  try {
    await fleet.start(workers, apis, options)
    // Nodes get to know each other.
    await sleep(500)
    return await work(fleet)
  } finally {
    await fleet.stop()
  }
}

async function query<Row>(server: RunningPostgres, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query(text)).rows as Row[]
  } finally {
    await client.end()
  }
}

function percentiles(values: readonly number[]): { p50: number; p99: number; max: number } {
  const sorted = values.toSorted((left, right) => left - right)
  const at = (share: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN)
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
