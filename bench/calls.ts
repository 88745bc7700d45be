import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { silentLogger } from '../src/base/logger.ts'
import { defineAgent } from '../src/define/define-agent.ts'
import { defineTool } from '../src/define/define-tool.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { memoryStore } from '../src/store/memory/memory-store.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { scriptedModel } from '../src/testing/scripted-model.ts'
import { examineStore } from '../src/upkeep/index.ts'
import { startPostgres } from '../test/setup/start-postgres.ts'
import { milliseconds } from './measure.ts'

/** The limits for 10,000 calls. */
const boundsMs: Readonly<Record<string, number>> = { suspend: 3_000, cancel: 2_000 }

type Engine = { readonly name: string; readonly store: Store; close(): Promise<void> }

/**
 * The cost of one message with very many calls: until all of them wait for a person, to read them, to answer some of
 * them one by one, to continue after a restart, and to cancel them. Fails when a limit is exceeded.
 */
export async function benchCalls(args: readonly string[]): Promise<void> {
  const after = (option: string) => (args.includes(option) ? args[args.indexOf(option) + 1] : undefined)
  const count = Number(after('--calls') ?? (args.includes('--quick') ? 1_000 : 10_000))
  const results: Record<string, Record<string, number>> = {}
  for (const [name, open] of Object.entries(engines)) {
    if ((after('--only') ?? name) !== name) continue
    const engine = await open()
    try {
      results[name] = await benchEngine(engine.store, count)
      console.log(JSON.stringify({ store: name, calls: count, ms: results[name] }))
    } finally {
      await engine.close()
    }
  }
  for (const [name, ms] of Object.entries(results)) {
    for (const [what, most] of Object.entries(boundsMs)) {
      if (ms[what]! <= most) continue
      console.error(`${name}: ${what} took ${ms[what]} ms, and may take ${most} ms`)
      process.exitCode = 1
    }
  }
  if (count !== 10_000 || after('--only') !== undefined) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(
    new URL('results/calls.json', import.meta.url),
    `${JSON.stringify({ calls: count, ms: results }, null, 2)}\n`,
  )
}

async function benchEngine(store: Store, count: number): Promise<Record<string, number>> {
  const ms: Record<string, number> = {}
  const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    ms[what] = Math.round(await milliseconds(work))
  }
  const answers = Math.min(100, count / 2)
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }) => `paid ${cents}`,
  })
  const calls = Array.from({ length: count }, (_, index) => ({ tool: 'pay', args: { cents: index } }))
  const model = scriptedModel(() => ({ calls }))
  const start = (): Runtime => {
    const agents = [defineAgent({ name: 'payer', model, tools: [pay] })]
    return createRuntime({ agents, store, logger: silentLogger }) as unknown as Runtime
  }
  let runtime = start()
  let chat = runtime.conversation('many', { agent: 'payer' })
  await measure('suspend', async () => {
    const outcome = await (await chat.send('pay them all')).outcome()
    if (outcome.status !== 'waiting') throw new Error(`the turn should wait, but is ${outcome.status}`)
  })
  await measure('view', () => chat.view())
  await measure('history', () => chat.history())
  await measure('inbox', () => runtime.inbox())
  const { pending } = await chat.view()
  await measure('approve', async () => {
    for (const item of pending.slice(0, answers)) await chat.approve(item)
  })
  await measure('afterApprove', () => chat.outcome())
  await measure('deny', async () => {
    for (const item of pending.slice(answers, 2 * answers)) await chat.deny(item)
  })
  await measure('afterDeny', () => chat.outcome())
  await measure('close', () => runtime.close())
  runtime = start()
  chat = runtime.conversation('many', { agent: 'payer' })
  await measure('revive', () => chat.view())
  await measure('approveRevived', async () => {
    await chat.approve(pending[2 * answers]!)
    await chat.outcome()
  })
  await measure('doctor', async () => {
    await examineStore(store, {
      onFinding: (finding) => {
        throw new Error(`the doctor found ${JSON.stringify(finding)}`)
      },
    })
  })
  await measure('cancel', async () => {
    const outcome = await chat.cancel()
    if (outcome?.status !== 'cancelled') throw new Error(`the turn should be cancelled, but is ${outcome?.status}`)
  })
  await runtime.close()
  return ms
}

const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  memory: async () => {
    const store = memoryStore({ logger: silentLogger })
    return { name: 'memory', store, close: () => store.close() }
  },
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
    const store = sqliteStore({ path: join(folder, 'calls.db') })
    const close = async (): Promise<void> => {
      await store.close()
      rmSync(folder, { recursive: true })
    }
    return { name: 'sqlite', store, close }
  },
  postgres: async () => {
    const postgres = await startPostgres()
    const store = postgresStore({ connectionString: postgres.url })
    const close = async (): Promise<void> => {
      await store.close()
      await postgres.destroy()
    }
    return { name: 'postgres', store, close }
  },
}
