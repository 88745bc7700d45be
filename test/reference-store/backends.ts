import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { silentLogger } from '../../src/base/logger.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

export type StoreName = 'memory' | 'sqlite' | 'postgres'

/** Where a sequence of commands runs. A durable one keeps its data over `open`; a memory one is new each time. */
export type Backend = {
  readonly isDurable: boolean
  /** How many stores are open on the same data at once. */
  readonly instances: number
  /** How far the store's clock may be from `now`. */
  readonly slackMs: number
  now(): number
  /** Lets time pass; on a real clock by waiting. */
  pass(ms: number): Promise<void>
  open(): Store
  destroy(): Promise<void>
}

export function memoryBackend(): Backend {
  const clock = fakeClock()
  return {
    isDurable: false,
    instances: 1,
    slackMs: 0,
    now: () => clock.now(),
    // A long time passes in one jump: advancing would go through every poll on the way.
    pass: (ms) => (ms < 5_000 ? clock.advance(ms) : clock.set(clock.now() + ms)),
    open: () => memoryStore({ clock, logger: silentLogger }),
    destroy: async () => {},
  }
}

export async function sqliteBackend(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-reference-'))
  return {
    ...realTime,
    open: () => sqliteStore({ path: join(folder, 'reference.db'), logger: silentLogger }),
    destroy: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Must be given a database of its own. */
export function postgresBackend(connectionString: string): Backend {
  return {
    ...realTime,
    open: () => postgresStore({ connectionString, logger: silentLogger }),
    destroy: async () => {},
  }
}

const realTime = {
  isDurable: true,
  instances: 2,
  slackMs: 2,
  now: () => Date.now(),
  pass: async (ms: number) => void (await sleep(ms + 1)),
}
