import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { busyAgent } from './busy-agent.ts'
import { countingStore } from './counting-store.ts'

export type RowsRead = {
  readonly program: 'rows-read'
  readonly store: string
  readonly ok: boolean
  readonly turns: number
  /** Rows that one turn reads, at that turn: the median of the ten turns up to it. */
  readonly perTurn: { readonly early: number; readonly late: number }
  /** Rows that a process reads which takes the conversation up there, and finishes one turn. */
  readonly revival: { readonly early: number; readonly late: number }
  readonly seconds: number
}

const early = 50
const handful = 5
const measured = 10

/** A long conversation, and what is read from the store for a turn of it at its beginning and at its end. */
export async function rowsRead(turns: number, storeName: 'memory' | 'sqlite'): Promise<RowsRead> {
  const begun = performance.now()
  const { opened, close } = open(storeName)
  const { store, counts } = countingStore(opened)
  const context = { workingBudget: 4_000, injectionReserve: 0 }
  const start = () => createRuntime({ agents: [busyAgent({ context })], store, logger: silentLogger, pollMs: 60_000 })
  let runtime = start()
  const perTurn: number[] = []
  const revivals: number[] = []

  async function oneTurn(): Promise<number> {
    const before = counts.rows
    const turn = await runtime.conversation('long', { agent: 'support' }).send('Where is my order?')
    const outcome = await turn.outcome()
    if (outcome.status !== 'completed') throw new Error(`a turn is ${JSON.stringify(outcome)}`)
    return counts.rows - before
  }

  for (const last of [early, turns]) {
    while (perTurn.length < last) perTurn.push(await oneTurn())
    await runtime.close()
    runtime = start()
    revivals.push(await oneTurn())
    perTurn.push(revivals.at(-1)!)
  }
  await runtime.close()
  await close()
  const at = (turn: number): number => median(perTurn.slice(turn - measured, turn))
  const result = { early: at(early), late: at(turns) }
  return {
    program: 'rows-read',
    store: storeName,
    ok: Math.abs(result.late - result.early) <= handful,
    turns,
    perTurn: result,
    revival: { early: revivals[0]!, late: revivals[1]! },
    seconds: Math.round((performance.now() - begun) / 100) / 10,
  }
}

function open(name: 'memory' | 'sqlite'): { opened: Store; close: () => Promise<void> } {
  if (name === 'memory') {
    const opened = memoryStore({ logger: silentLogger })
    return { opened, close: () => opened.close() }
  }
  const folder = mkdtempSync(join(tmpdir(), 'perdure-rows-'))
  const opened = sqliteStore({ path: join(folder, 'rows.db'), logger: silentLogger })
  const close = async (): Promise<void> => {
    await opened.close()
    rmSync(folder, { recursive: true })
  }
  return { opened, close }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]!
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { turns: { type: 'string' }, store: { type: 'string' } } })
  const store = values.store === 'memory' ? 'memory' : 'sqlite'
  const result = await rowsRead(Number(values.turns ?? 5_000), store)
  process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exitCode = result.ok ? 0 : 1
}
