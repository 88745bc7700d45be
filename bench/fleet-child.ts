import { PerformanceObserver, performance } from 'node:perf_hooks'
import pg from 'pg'
import { z } from 'zod'
import { defineAgent } from '../src/define/define-agent.ts'
import { defineTool } from '../src/define/define-tool.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { startSlowProxy } from '../test/support/slow-proxy.ts'
import type { ChildReport, Command, Role } from './fleet-messages.ts'
import { instantModel } from './instant-model.ts'

/** A node of the fleet bench, in a process of its own: a worker, an API node, or the proxy before the database. */
const role = JSON.parse(process.argv[2]!) as Role
process.on('disconnect', () => process.exit(0))
const tell = (report: ChildReport): void => void process.send?.(report)

if (role.type === 'proxy') {
  const { url } = await startSlowProxy(role.url, role.roundTripMs)
  tell({ type: 'ready', url })
} else await runNode(role)

/** Milliseconds by a clock that all processes of the machine share. */
function sharedNow(): number {
  return performance.timeOrigin + performance.now()
}

async function runNode({
  type,
  url,
  leaseMs,
  maxConcurrentTurns,
  expiresInMs,
  holds,
}: Exclude<Role, { type: 'proxy' }>): Promise<void> {
  let statements = 0
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
    statements += 1
    return query.apply(this, args)
  } as typeof pg.Client.prototype.query

  const begun: number[] = []
  const noting = (model: ReturnType<typeof instantModel>): ReturnType<typeof instantModel> => {
    const doStream = model.doStream.bind(model)
    model.doStream = async (options) => {
      const last = options.prompt.at(-1)
      const text = last?.role === 'user' ? (last.content as { text?: string }[])[0]?.text : undefined
      const sentAt = Number(text?.match(/^sent (\d+(?:\.\d+)?)/)?.[1])
      if (sentAt > 0) begun.push(sharedNow() - sentAt)
      if (holds) await new Promise((resolve) => setTimeout(resolve, 3_600_000))
      return doStream(options)
    }
    return model
  }
  const look = {
    name: 'look',
    description: 'Look it up',
    input: z.object({ q: z.string() }),
    run: () => ({ found: 42 }),
  } as const
  const context = { summarise: false } as const
  const looks = noting(instantModel())
  const agents = [
    defineAgent({ name: 'talks', model: noting(instantModel({ calls: false })), context }),
    defineAgent({ name: 'looks', model: looks, tools: [defineTool(look)], context }),
    defineAgent({
      name: 'asks',
      model: looks,
      tools: [defineTool({ ...look, approval: 'required', expiresInMs })],
      context,
    }),
  ]
  const store = postgresStore({ connectionString: url })
  const options = { agents, store, work: type === 'worker', leaseMs, maxConcurrentTurns }
  const runtime = createRuntime(options) as unknown as Runtime
  let cpuFrom = process.cpuUsage()
  const gc = { ms: 0 }
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) gc.ms += entry.duration
  }).observe({ entryTypes: ['gc'] })

  const turn = async (id: string, agent: string, text: string): Promise<void> => {
    const sent = await runtime.conversation(id, { agent }).send(`sent ${sharedNow()} ${text}`)
    const outcome = await sent.outcome()
    if (outcome.status !== 'completed') throw new Error(`a turn ended ${JSON.stringify(outcome)}`)
  }
  const commands: { [Name in Command['type']]: (command: Extract<Command, { type: Name }>) => Promise<number[]> } = {
    async lanes({ lanes, ms, agent, prefix }) {
      const end = performance.now() + ms
      const took: number[] = []
      const lane = async (n: number): Promise<void> => {
        while (performance.now() < end) {
          const start = performance.now()
          await turn(`${prefix}-${n}`, agent, 'go')
          took.push(performance.now() - start)
        }
      }
      await Promise.all(Array.from({ length: lanes }, (_, n) => lane(n)))
      return took
    },
    async rate({ perSecond, ms, agent, prefix }) {
      const start = performance.now()
      const took: number[] = []
      const turns: Promise<void>[] = []
      for (let n = 0; performance.now() - start < ms; n++) {
        const waitMs = start + (n * 1_000) / perSecond - performance.now()
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
        const sentAt = performance.now()
        turns.push(
          turn(`${prefix}-${n % 512}-${Math.floor(n / 512)}`, agent, 'go').then(
            () => void took.push(performance.now() - sentAt),
          ),
        )
      }
      await Promise.all(turns)
      return took
    },
    async send({ from, to, agent, prefix, text }) {
      for (let n = from; n < to; n += 64) {
        const some = Array.from({ length: Math.min(64, to - n) }, (_, m) => `${prefix}-${n + m}`)
        await Promise.all(some.map((id) => runtime.conversation(id, { agent }).send(`sent ${sharedNow()} ${text}`)))
      }
      return []
    },
    async watch({ from, to, prefix }) {
      const ids = Array.from({ length: to - from }, (_, n) => `${prefix}-${from + n}`)
      await Promise.all(ids.map(follow))
      return []
    },
    async report() {
      return []
    },
  }
  /** Resolves when it has been shown what there is. */
  async function follow(id: string): Promise<void> {
    const watching = runtime.conversation(id).watch()
    await watching.next()
    void (async () => {
      for await (const _ of watching);
    })()
  }
  process.on('message', (command: Command) => {
    if (command.type === 'report') {
      const { user, system } = process.cpuUsage(cpuFrom)
      tell({ type: 'figures', statements, begun: begun.splice(0), cpuMs: (user + system) / 1_000, gcMs: gc.ms })
      statements = 0
      gc.ms = 0
      cpuFrom = process.cpuUsage()
      return
    }
    ;(commands[command.type] as (given: Command) => Promise<number[]>)(command).then(
      (took) => tell({ type: 'done', took }),
      (error: unknown) => tell({ type: 'failed', message: String(error) }),
    )
  })
  tell({ type: 'ready', url })
}
