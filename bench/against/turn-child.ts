/**
 * Measures turns with the sources of any tree: `node turn-child.ts <root of the tree> <SQLite file> <Postgres URL>`.
 * Runs as a child process: it receives a measure and answers with the time of one slice. It imports public entries
 * only, so that it can load older trees.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type * as Perdure from '../../src/index.ts'
import type * as Postgres from '../../src/store/postgres/index.ts'
import type * as Sqlite from '../../src/store/sqlite/index.ts'
import { instantModel } from '../instant-model.ts'
import { inLanes, median, milliseconds } from '../measure.ts'
import type { Slice, TurnMeasure } from './turn-measures.ts'

/** Conversations stay short, so that the first and the last slice measure the same. */
const turnsPerConversation = 10
/** Work that follows a turn, such as releasing a lease, must not run while the other tree is measured. */
const restMs = 10

const [root = '', sqliteFile = '', postgresUrl = ''] = process.argv.slice(2)
const { createRuntime, defineAgent, defineTool, memoryStore } = await entry<typeof Perdure>('.')
const { sqliteStore } = await entry<typeof Sqlite>('./sqlite')
const { postgresStore } = await entry<typeof Postgres>('./postgres')
const look = defineTool({
  name: 'look',
  description: 'Look it up',
  input: z.object({ q: z.string() }),
  run: () => ({ found: 42 }),
})
const agent = defineAgent({ name: 'bench', model: instantModel(), tools: [look], context: { summarise: false } })
const runtimes = {
  memory: createRuntime({ agents: [agent], store: memoryStore() }),
  sqlite: createRuntime({ agents: [agent], store: sqliteStore({ path: sqliteFile }) }),
  postgres: createRuntime({ agents: [agent], store: postgresStore({ connectionString: postgresUrl, max: 8 }) }),
}
let slices = 0

process.on('message', (measure: TurnMeasure) => void answer(measure))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

async function answer(measure: TurnMeasure): Promise<void> {
  const slice = await measureSlice(measure)
  await sleep(restMs)
  process.send?.(slice)
}

/**
 * One lane reports the median of its turns, which other programs disturb least; several lanes report the time until all
 * are done.
 */
async function measureSlice({ store, lanes, turnsPerLane }: TurnMeasure): Promise<Slice> {
  slices += 1
  const turnTimes: number[] = []
  const before = process.cpuUsage()
  const allMs = await milliseconds(() =>
    inLanes(lanes, turnsPerLane, async (lane, n) => {
      const id = `slice-${slices}-${lane}-${Math.floor(n / turnsPerConversation)}`
      turnTimes.push(await milliseconds(() => oneTurn(runtimes[store].conversation(id, { agent: 'bench' }))))
    }),
  )
  const { user, system } = process.cpuUsage(before)
  return { ms: lanes === 1 ? median(turnTimes) : allMs, cpuMs: (user + system) / 1000 }
}

async function oneTurn(conversation: Perdure.Conversation): Promise<void> {
  const turn = await conversation.send('What is the answer?')
  const outcome = await turn.outcome()
  if (outcome.status !== 'completed') throw new Error(`a turn ended ${JSON.stringify(outcome)}`)
}

/** The source of an entry, according to the `exports` of the tree's package.json. */
async function entry<Module>(subpath: string): Promise<Module> {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const source = exports[subpath].default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
  return await import(pathToFileURL(join(root, source)).href)
}
