import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineFlow } from '../src/define/define-flow.ts'
import { FlowRun } from '../src/engine/flow/flow-run.ts'
import { loadFlow } from '../src/engine/flow/load-flow.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Store } from '../src/store/store.ts'
import { inLanes, median, milliseconds, ratePerSecond } from './measure.ts'

const resumes = 1_000
const continues = [100, 1_000, 10_000]

/** Waits this often, and adds up the answers. */
const adder = defineFlow({
  name: 'adder',
  version: 1,
  run: async (flow, input) => {
    let sum = 0
    for (let n = 0; n < (input as number); n++) sum += await flow.suspend<number>({ question: n })
    return sum
  },
})

/** Continues with a fresh record this often, then waits. */
const walker = defineFlow({
  name: 'walker',
  version: 1,
  run: async (flow, input) => {
    if (input === 0) return flow.suspend('end')
    return flow.continueAs((input as number) - 1)
  },
})

const tenSteps = defineFlow({
  name: 'ten-steps',
  version: 1,
  run: async (flow) => {
    let sum = 0
    for (let n = 1; n <= 10; n++) sum += await flow.step('add', { input: n }, () => n)
    return sum
  },
})

/**
 * The cost of replaying: a record of a thousand answers, a thousand resumes, and sessions that continued with fresh
 * records. On SQLite.
 */
export async function benchFlows(args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  const store = sqliteStore({ path: join(folder, 'flows.db') })
  const runtime = createRuntime({ agents: [], flows: [adder, walker, tenSteps], store }) as unknown as Runtime
  const figures: Record<string, number> = {}
  try {
    Object.assign(figures, await thousandResumes(runtime, store, isQuick ? resumes / 10 : resumes))
    Object.assign(figures, await freshRecords(runtime, store, isQuick ? continues.slice(0, 2) : continues))
    Object.assign(figures, await steps(runtime, isQuick ? 10 : 50))
  } finally {
    await runtime.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
  for (const [what, figure] of Object.entries(figures))
    console.log(`${what.padEnd(40)} ${figure.toFixed(2).padStart(10)}`)
  console.log(JSON.stringify({ figures, load: loadavg()[0] }))
  if (isQuick) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/flows.json', import.meta.url), `${JSON.stringify({ figures }, null, 2)}\n`)
}

async function thousandResumes(runtime: Runtime, store: Store, count: number): Promise<Record<string, number>> {
  const session = runtime.flow(adder, 'adder')
  await session.start(count + 1)
  const times: number[] = []
  const totalMs = await milliseconds(async () => {
    for (let n = 1; n <= count; n++) times.push(await milliseconds(() => session.resume(n)))
  })
  const loads: number[] = []
  const replays: number[] = []
  for (let round = 0; round < 15; round++) {
    let loaded: Awaited<ReturnType<typeof loadFlow>> = null
    loads.push(await milliseconds(async () => (loaded = await loadFlow(store, 'adder'))))
    replays.push(await milliseconds(() => new FlowRun('adder', adder, loaded!.state).replay()))
  }
  return {
    [`load of ${count} answers, ms`]: median(loads),
    [`replay of ${count} answers, ms`]: median(replays),
    [`${count} resumes one by one, s`]: totalMs / 1_000,
    'resume, the first 50, median ms': median(times.slice(0, 50)),
    'resume, the last 50, median ms': median(times.slice(-50)),
  }
}

async function freshRecords(
  runtime: Runtime,
  store: Store,
  lengths: readonly number[],
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {}
  for (const length of lengths) {
    const id = `walker-${length}`
    const ranMs = await milliseconds(() => runtime.flow(walker, id).start(length))
    const loads: number[] = []
    for (let round = 0; round < 15; round++) loads.push(await milliseconds(() => loadFlow(store, id)))
    figures[`continueAs per second, of ${length}`] = (length * 1_000) / ranMs
    figures[`load after ${length} continueAs, ms`] = median(loads)
    figures[`events read after ${length} continueAs`] = (await store.loadSince(id)).events.length
  }
  return figures
}

async function steps(runtime: Runtime, sessions: number): Promise<Record<string, number>> {
  const one = await ratePerSecond(sessions, () =>
    inLanes(1, sessions, (_, n) => runtime.flow(tenSteps, `alone-${n}`).start(null)),
  )
  const many = await ratePerSecond(sessions * 8, () =>
    inLanes(64, Math.ceil(sessions / 8), (lane, n) => runtime.flow(tenSteps, `wide-${lane}-${n}`).start(null)),
  )
  return { 'sessions of ten steps per second': one, 'the same, 64 at once': many }
}
