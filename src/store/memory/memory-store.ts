import { type Clock, systemClock } from '../../base/clock.ts'
import { createStore, type StoreOptions } from '../create-store.ts'
import type { Store } from '../store.ts'
import { memoryDriver } from './memory-driver.ts'

/** What `memoryStore` takes. */
export type MemoryStoreOptions = StoreOptions & {
  /** Default: the system's. */
  readonly clock?: Clock
}

/** A store that lives as long as the process: for tests, examples and what may be lost. */
export function memoryStore({ clock = systemClock, ...options }: MemoryStoreOptions = {}): Store {
  return createStore(memoryDriver(clock), options, clock)
}
