import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver } from '../../src/store/memory/memory-store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { mortalStore } from './mortal-store.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 30_000 })

const minute = 60_000
/** Far less than the jumps. */
const promptlyMs = 15_000
const quick = { pollMs: 20, leaseMs: 500 }

/** A store whose clock can be put forward and back, as its data sees it. */
type ClockedStore = { open(): Store; put(offMs: number): Promise<void>; close(): Promise<void> }

/** The time that the driver is given. */
function memory(): ClockedStore {
  let offMs = 0
  const store = createStore(memoryDriver({ now: () => Date.now() + offMs }), { logger: silentLogger })
  return { open: () => store, put: async (ms) => void (offMs = ms), close: () => store.close() }
}

/** Its time is the time of day of the process. */
function sqlite(): ClockedStore {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-clock-'))
  const real = Date.now
  const stores: Store[] = []
  return {
    open() {
      stores.push(sqliteStore({ path: join(folder, 'agents.db'), logger: silentLogger }))
      return stores.at(-1)!
    },
    put: async (ms) => void vi.spyOn(Date, 'now').mockImplementation(() => real() + ms),
    async close() {
      vi.restoreAllMocks()
      for (const store of stores) await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** In the sessions of the store another function stands before the server's own clock. */
function postgres(): ClockedStore {
  const name = `clock_${crypto.randomUUID().replaceAll('-', '')}`
  const admin = new pg.Pool({ connectionString: inject('postgresUrl'), max: 1 })
  const ready =
    admin.query(`CREATE SCHEMA ${name}; CREATE TABLE ${name}.jump (ms bigint); INSERT INTO ${name}.jump VALUES (0);
    CREATE FUNCTION ${name}.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
      'SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM ${name}.jump) * interval ''1 millisecond'''`)
  const url = new URL(inject('postgresUrl'))
  url.searchParams.set('options', `-c search_path=${name},pg_catalog`)
  const stores: Store[] = []
  return {
    open() {
      stores.push(postgresStore({ connectionString: url.href, schema: `${name}_data`, max: 4, logger: silentLogger }))
      return stores.at(-1)!
    },
    async put(ms) {
      await ready
      await admin.query(`UPDATE ${name}.jump SET ms = $1`, [ms])
    },
    async close() {
      for (const store of stores) await store.close()
      await admin.end()
    },
  }
}

const pay = defineTool({
  ...{ name: 'pay', description: 'Pay', input: z.object({}), approval: 'required' as const },
  run: () => 'paid',
})
const ask = (expiresInMs: number) =>
  defineTool({
    ...{ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human' as const },
    ...{ output: z.string(), expiresInMs },
  })
const calling = (tool: string) =>
  scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool, args: {} }] }))
const till = () => defineAgent({ name: 'till', model: calling('pay'), tools: [pay] })

for (const [name, create] of Object.entries({ memory, sqlite, postgres })) {
  describe(`a store whose clock is put back or forward (${name})`, () => {
    let clocked: ClockedStore
    const runtimes: Runtime[] = []
    const start = <const Agents extends readonly Agent[]>(options: RuntimeOptions<Agents>): Runtime<Agents> => {
      const runtime = createRuntime({ ...quick, logger: silentLogger, ...options })
      runtimes.push(runtime as unknown as Runtime)
      return runtime
    }
    const real = performance.now.bind(performance)
    const promptly = async <T>(work: Promise<T>): Promise<T> => {
      const began = real()
      const result = await work
      expect(real() - began).toBeLessThan(promptlyMs)
      return result
    }

    beforeEach(async () => {
      clocked = create()
      await clocked.put(0)
    })

    afterEach(async () => {
      for (const runtime of runtimes.splice(0)) await runtime.close({ drainMs: 0 })
      await clocked.close()
    })

    for (const [jump, ms] of [
      ['back by 10 minutes', -10 * minute],
      ['forward by 10 minutes', 10 * minute],
    ] as const) {
      test(`${jump}: a turn that waits for approval goes on, and one that runs ends`, async () => {
        const paced = pacedModel()
        const agents = [till(), defineAgent({ name: 'slow', model: paced })] as const
        const runtime = start({ agents, store: clocked.open() })
        const waiting = await runtime.conversation('c1', { agent: 'till' }).send('pay')
        const item = await onlyPendingOf(waiting)
        const running = await runtime.conversation('c2', { agent: 'slow' }).send('go')
        await paced.called(1)
        await clocked.put(ms)
        // Its lease is renewed a few times by the new clock.
        await new Promise((resolve) => setTimeout(resolve, 3 * quick.leaseMs))
        await runtime.conversation('c1').approve(item as never)
        expect(await promptly(waiting.outcome())).toMatchObject({ status: 'completed' })
        await paced.answer(1, 'ok')
        expect(await promptly(running.outcome())).toMatchObject({ status: 'completed', text: 'ok' })
        expect(paced.calls).toHaveLength(1)
      })

      test(`${jump}: what a node left behind when it died is taken up by another`, async () => {
        const paced = pacedModel()
        const slow = defineAgent({ name: 'slow', model: paced })
        const store = clocked.open()
        const dying = mortalStore(store)
        const first = start({ agents: [slow], store: dying.store })
        const { turnId } = await first.conversation('c1', { agent: 'slow' }).send('go')
        await paced.called(1)
        const second = start({ agents: [slow, till()], store: clocked.open() })
        await clocked.put(ms)
        dying.kill()
        await paced.answer(2, 'ok')
        expect(await promptly(second.conversation('c1').turn(turnId).outcome())).toMatchObject({ text: 'ok' })
      })

      test(`${jump}: what was due and had no node is taken up by one that starts afterwards`, async () => {
        const agents = [till()] as const
        const api = start({ agents, store: clocked.open(), work: false })
        const turn = await api.conversation('c1', { agent: 'till' }).send('pay')
        await clocked.put(ms)
        start({ agents, store: clocked.open() })
        expect(await promptly(turn.outcome())).toMatchObject({ status: 'waiting' })
      })

      test(`${jump}: deadlines and sleeps that begin afterwards last as long as they say`, async () => {
        const flow = defineFlow({
          ...{ name: 'nap', version: 1 },
          run: async (flow) => {
            await flow.sleep(300)
            return 'awake'
          },
        })
        const asking = defineAgent({ name: 'asking', model: calling('ask'), tools: [ask(300)] })
        const runtime = start({ agents: [asking], flows: [flow], store: clocked.open() })
        await runtime.conversation('c0', { agent: 'asking' }).view()
        await clocked.put(ms)
        await runtime.flow(flow, 's1').start(null)
        expect(await promptly(runtime.flow(flow, 's1').outcome())).toMatchObject({ status: 'done' })
        const turn = await runtime.conversation('c1', { agent: 'asking' }).send('ask')
        const ended = async () => {
          for (;;) {
            const outcome = await turn.outcome()
            if (outcome.status !== 'waiting') return outcome
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        }
        expect(await promptly(ended())).toMatchObject({ status: 'completed' })
      })
    }

    test('forward by 10 minutes: a deadline of 10 minutes has passed; back: it has not', async () => {
      const asking = defineAgent({ name: 'asking', model: calling('ask'), tools: [ask(10 * minute)] })
      const runtime = start({ agents: [asking], store: clocked.open() })
      const chat = runtime.conversation('c1', { agent: 'asking' })
      const turn = await chat.send('ask')
      await onlyPendingOf(turn)
      await clocked.put(-10 * minute)
      await new Promise((resolve) => setTimeout(resolve, 700))
      expect(await turn.outcome()).toMatchObject({ status: 'waiting' })
      await clocked.put(10 * minute)
      await promptly(
        (async () => {
          while ((await turn.outcome()).status === 'waiting') await new Promise((resolve) => setTimeout(resolve, 20))
        })(),
      )
    })
  })
}
