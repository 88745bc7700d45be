import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { z } from 'zod'
import { defineAgent } from '../src/define/define-agent.ts'
import { defineTool } from '../src/define/define-tool.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { instantModel } from './instant-model.ts'
import { inLanes } from './measure.ts'

const lanes = 64

/** The cost of conversations that wait for a person, and how soon the model is called after an answer. */
export async function benchParked(args: readonly string[]): Promise<void> {
  const count = args.includes('--quick') ? 1_000 : 10_000
  const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  const store = sqliteStore({ path: join(folder, 'parked.db') })
  const model = instantModel()
  const called = new Map<string, number>()
  const doStream = model.doStream.bind(model)
  model.doStream = (options) => {
    called.set(conversationOf(options.prompt), performance.now())
    return doStream(options)
  }
  const look = defineTool({
    name: 'look',
    description: 'Look',
    input: z.object({ q: z.string() }),
    approval: 'required',
    run: () => 42,
  })
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'bench', model, tools: [look] })],
    store,
  }) as unknown as Runtime
  await oneParked(runtime, 'warm-up')
  const empty = heapAfterGc()
  await inLanes(lanes, Math.ceil(count / lanes), (lane, n) => oneParked(runtime, `parked-${lane}-${n}`))
  called.clear()
  const parkedMb = (heapAfterGc() - empty) / 1024 / 1024
  const delays: number[] = []
  for (let n = 0; n < 500; n++)
    delays.push(await answerDelay(runtime, `parked-${n % lanes}-${Math.floor(n / lanes)}`, called))
  delays.sort((left, right) => left - right)
  const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(share * delays.length))]!
  await runtime.close()
  await store.close()
  rmSync(folder, { recursive: true })
  const figures = {
    conversations: count,
    heapMb: round(parkedMb),
    answerToModelMs: { p50: round(at(0.5)), p99: round(at(0.99)), max: round(at(1)) },
  }
  console.log(JSON.stringify(figures))
  if (args.includes('--quick')) return
  mkdirSync(new URL('results', import.meta.url), { recursive: true })
  writeFileSync(new URL('results/parked.json', import.meta.url), `${JSON.stringify(figures, null, 2)}\n`)
}

async function oneParked(runtime: Runtime, id: string): Promise<void> {
  const turn = await runtime.conversation(id, { agent: 'bench' }).send(`in ${id}`)
  const outcome = await turn.outcome()
  if (outcome.status !== 'waiting') throw new Error(`a turn should wait, but ${JSON.stringify(outcome)}`)
}

/** The time from an accepted answer to the model call with the result. */
async function answerDelay(runtime: Runtime, id: string, called: Map<string, number>): Promise<number> {
  const conversation = runtime.conversation(id)
  const { pending } = await conversation.view()
  const answered = await conversation.approve(pending[0]!)
  const acceptedAt = performance.now()
  if (!answered.accepted) throw new Error('the answer should be accepted')
  await conversation.outcome()
  return Math.max(0, called.get(id)! - acceptedAt)
}

function conversationOf(prompt: readonly { readonly role: string; readonly content: unknown }[]): string {
  const first = prompt.find((message) => message.role === 'user')!
  const [part] = first.content as { text: string }[]
  return part!.text.slice('in '.length)
}

function heapAfterGc(): number {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
