import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, inject } from 'vitest'
import type { Agent } from '../../src/agent/agent.ts'
import { type Logger, silentLogger } from '../../src/logger/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

export type StoryContext = {
  readonly name: 'memory' | 'sqlite' | 'postgres'
  /** An empty store. Closed after the test. */
  openStore(): Store
  /** Another store object over the same data, as another process would have. Memory gives the same object. */
  reopen(store: Store): Store
  /** A runtime that is closed after the test, before its store. */
  start<const Agents extends readonly Agent[]>(
    options: Omit<RuntimeOptions<Agents>, 'store'> & { store?: Store },
  ): Runtime<Agents> & { readonly store: Store }
}

/** Tells a story once for each store. */
export function overStores(title: string, tell: (story: StoryContext) => void): void {
  for (const name of ['memory', 'sqlite', 'postgres'] as const) {
    describe(`${title} (${name})`, () => tell(context(name)))
  }
}

function context(name: StoryContext['name']): StoryContext {
  const places = new WeakMap<Store, string>()
  const stores = new Set<Store>()
  const runtimes = new Set<Runtime>()
  const folders = new Set<string>()

  afterEach(async () => {
    for (const runtime of runtimes) await runtime.close({ drainMs: 0 })
    for (const store of stores) await store.close()
    for (const folder of folders) rmSync(folder, { recursive: true })
    for (const set of [runtimes, stores, folders]) set.clear()
  })

  function open(place: string): Store {
    const store = openAt(name, place, silentLogger)
    places.set(store, place)
    stores.add(store)
    return store
  }

  const story: StoryContext = {
    name,
    openStore: () => {
      if (name !== 'sqlite') return open(`story_${randomUUID().replaceAll('-', '')}`)
      const folder = mkdtempSync(join(tmpdir(), 'perdure-story-'))
      folders.add(folder)
      return open(join(folder, 'agents.db'))
    },
    reopen: (store) => (name === 'memory' ? store : open(places.get(store)!)),
    start: (options) => {
      const store = options.store ?? story.openStore()
      const runtime = createRuntime({ logger: silentLogger, ...options, store })
      runtimes.add(runtime as unknown as Runtime)
      return { ...runtime, store }
    },
  }
  return story
}

function openAt(name: StoryContext['name'], place: string, logger: Logger): Store {
  if (name === 'memory') return memoryStore({ logger })
  if (name === 'sqlite') return sqliteStore({ path: place, logger })
  return postgresStore({ connectionString: inject('postgresUrl'), schema: place, max: 4, logger })
}
