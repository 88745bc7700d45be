import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { defineAgent } from '../src/define/define-agent.ts'
import { createScope, systemScope } from '../src/define/scope.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { instantModel } from './instant-model.ts'
import { median } from './measure.ts'

const queued = 2_000
const rounds = 15
const modelMs = 200
/** How many times as long as alone a turn may take. */
const mostTimes = 3
/** The nodes work on so many turns at once, and where there are limits, each tenant on half as many. */
const atOnce = 16

/** How long one turn of a small tenant takes behind 2,000 of another one, and alone. `npm run bench -- fairness [--quick]` */
export async function benchFairness(args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  const server = await startPostgres()
  try {
    for (const isLimited of [false, true]) {
      const sqlite = () => sqliteStore({ path: join(folder, `${isLimited}.db`) })
      const postgres = () => postgresStore({ connectionString: server.url, schema: `fair_${isLimited}` })
      for (const [name, open] of [
        ['sqlite', sqlite],
        ['postgres', postgres],
      ] as const) {
        const figures = await behindOthers(open, isLimited, isQuick ? 5 : rounds)
        console.log(JSON.stringify({ store: name, isLimited, queued, modelMs, atOnce, ...figures, load: loadavg()[0] }))
        if (isQuick || figures.ratio <= mostTimes) continue
        console.error(`${name}: ${figures.ratio} times as long as alone, and ${mostTimes} are allowed`)
        process.exitCode = 1
      }
    }
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function behindOthers(open: () => Store, isLimited: boolean, times: number) {
  const stores = [open(), open()] as const
  const start = (work: boolean) =>
    createRuntime({
      agents: [defineAgent({ name: 'talks', model: slowModel(), context: { summarise: false } })],
      ...{ store: stores[work ? 1 : 0], work, maxConcurrentTurns: atOnce, tenant: tenantOf, restoreScope: systemScope },
      ...(isLimited ? { limits: { turnsPerTenant: atOnce / 2 } } : {}),
    })
  const [api, worker] = [start(false), start(true)]
  const of = (tenant: string) => api.as(createScope({ tenant, user: 'u' }))
  const turnMs = async (id: string): Promise<number> => {
    const begun = performance.now()
    const sent = await of('small').conversation(id, { agent: 'talks' }).send('go')
    const outcome = await sent.outcome()
    if (outcome.status !== 'completed') throw new Error(`a turn ended ${JSON.stringify(outcome)}`)
    return performance.now() - begun
  }
  const several = async (prefix: string): Promise<number[]> => {
    const took: number[] = []
    for (let n = 0; n < times; n++) took.push(await turnMs(`${prefix}-${n}`))
    return took
  }
  await several('warm')
  const alone = await several('alone')
  for (let n = 0; n < queued; n += 64) {
    const ids = Array.from({ length: Math.min(64, queued - n) }, (_, m) => `big-${n + m}`)
    await Promise.all(ids.map((id) => of('big').conversation(id, { agent: 'talks' }).send('go')))
  }
  const behind = await several('behind')
  const waiting = await stores[0].dueWork({ agents: ['talks'], limit: 1 })
  if (waiting.length === 0) throw new Error('the queue was empty before the last turn')
  await worker.close({ drainMs: 0 })
  await api.close()
  for (const store of stores) await store.close()
  const [aloneMs, behindMs] = [median(alone), median(behind)]
  return { aloneMs, behindMs, longestBehindMs: Math.max(...behind), ratio: behindMs / aloneMs }
}

function tenantOf(scope: { tenant?: string }): string {
  return scope.tenant ?? 'default'
}

function slowModel(): LanguageModelV4 {
  const instant = instantModel({ calls: false })
  return {
    ...instant,
    async doStream(options) {
      await sleep(modelMs)
      return instant.doStream(options)
    },
  } as LanguageModelV4
}
