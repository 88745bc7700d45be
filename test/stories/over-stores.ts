import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, inject } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { type Logger, silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { encode } from '../../src/log/codec.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import type { Driver } from '../../src/store/driver.ts'
import { memoryDriver } from '../../src/store/memory/memory-store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { postgresDriver } from '../../src/store/postgres/postgres-store.ts'
import { prepareChange } from '../../src/store/prepare-change.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sqliteDriver } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { giveBackSchema, takeSchema } from '../setup/spare-schemas.ts'

export type StoryContext = {
  readonly name: 'memory' | 'sqlite' | 'postgres'
  /** An empty store. Closed after the test. */
  openStore(): Store
  /** Another store object over the same data, as another process would have. Memory gives the same object. */
  reopen(store: Store): Store
  /** Appends as a node of a later version would: an event of any type, without a check. */
  appendAsLater(store: Store, id: string, event: { readonly type: string; readonly content: Json }): Promise<void>
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
  const drivers = new WeakMap<Store, Driver>()
  const stores = new Set<Store>()
  const runtimes = new Set<Runtime>()
  const folders = new Set<string>()
  const schemas = new Set<string>()

  afterEach(async ({ task }) => {
    for (const runtime of runtimes) await runtime.close({ drainMs: 0 })
    for (const store of stores) await store.close()
    for (const folder of folders) rmSync(folder, { recursive: true })
    if (task.result?.state !== 'fail') for (const schema of schemas) await giveBackSchema(schema)
    for (const set of [runtimes, stores, folders, schemas]) set.clear()
  })

  function open(place: string): Store {
    const driver = name === 'memory' ? memoryDriver() : null
    const store = driver ? createStore(driver, { logger: silentLogger }) : openAt(name, place, silentLogger)
    if (driver) drivers.set(store, driver)
    places.set(store, place)
    stores.add(store)
    return store
  }

  const story: StoryContext = {
    name,
    openStore: () => {
      if (name === 'memory') return open('memory')
      if (name === 'postgres') {
        const schema = takeSchema()
        schemas.add(schema)
        return open(schema)
      }
      const folder = mkdtempSync(join(tmpdir(), 'perdure-story-'))
      folders.add(folder)
      return open(join(folder, 'agents.db'))
    },
    async appendAsLater(store, id, { type, content }) {
      const place = places.get(store)!
      const driver = drivers.get(store) ?? driverAt(name, place)
      const events = [{ type, content: encode(content) }]
      const outcome = await driver.commit('default', id, { ...prepareChange({ events: [] }), events })
      if (!drivers.has(store)) await driver.close()
      if (outcome.type !== 'ok') throw new Error(`not appended: ${outcome.type}`)
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

function driverAt(name: StoryContext['name'], place: string): Driver {
  if (name === 'sqlite') return sqliteDriver({ path: place, busyTimeoutMs: 10_000, logger: silentLogger })
  const waits = { connectTimeoutMs: 10_000, answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000, hintCheckMs: 10_000 }
  const connectionString = inject('postgresUrl')
  return postgresDriver({ connectionString, schema: place, max: 1, logger: silentLogger, ...waits })
}

function openAt(name: StoryContext['name'], place: string, logger: Logger): Store {
  if (name === 'sqlite') return sqliteStore({ path: place, logger })
  return postgresStore({ connectionString: inject('postgresUrl'), schema: place, max: 4, logger })
}
