import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { Agent } from '../../src/define/agent.ts'
import { encode } from '../../src/log/codec.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import type { Driver } from '../../src/store/driver.ts'
import { memoryDriver } from '../../src/store/memory/memory-store.ts'
import { prepareChange } from '../../src/store/prepare-change.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sqliteDriver } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { PostgresSchema } from '../setup/postgres-schema.ts'

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

/** Where the data of a store is. */
type Place = { openStore(): Store; openDriver(): Driver; remove(): void | Promise<void> }

function context(name: StoryContext['name']): StoryContext {
  const places = new Map<Store, Place>()
  const runtimes = new Set<Runtime>()

  afterEach(async ({ task }) => {
    for (const runtime of runtimes) await runtime.close({ drainMs: 0 })
    for (const store of places.keys()) await store.close()
    // What a test that failed has left running may still write there.
    if (task.result?.state !== 'fail') for (const place of new Set(places.values())) await place.remove()
    places.clear()
    runtimes.clear()
  })

  function open(place: Place): Store {
    const store = place.openStore()
    places.set(store, place)
    return store
  }

  const story: StoryContext = {
    name,
    openStore: () => open(newPlace[name]()),
    async appendAsLater(store, id, { type, content }) {
      const driver = places.get(store)!.openDriver()
      const events = [{ type, content: encode(content) }]
      const outcome = await driver.commit('default', id, { ...prepareChange({ events: [] }), events })
      if (name !== 'memory') await driver.close()
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

const logger = silentLogger

const newPlace: Readonly<Record<StoryContext['name'], () => Place>> = {
  memory() {
    const driver = memoryDriver()
    return { openStore: () => createStore(driver, { logger }), openDriver: () => driver, remove: () => {} }
  },
  sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-story-'))
    const path = join(folder, 'agents.db')
    return {
      openStore: () => sqliteStore({ path, logger }),
      openDriver: () => sqliteDriver({ path, busyTimeoutMs: 10_000, logger }),
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
  postgres() {
    const schema = PostgresSchema.take()
    return {
      openStore: () => createStore(schema.open(), { logger }),
      openDriver: () => schema.open(),
      remove: () => schema.giveBack(),
    }
  },
}
