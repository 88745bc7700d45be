import type { Store } from '../store/store.ts'
import { appendAndRead } from './conformance/append-and-read.ts'
import { createSuite, type Suite } from './conformance/suite.ts'
import type { TestRunner } from './test-runner.ts'

/** A store as the suite is given it. */
export type StoreUnderTest = {
  /** A new, empty store. Called once for each case. */
  create(): Store | Promise<Store>
  /** Must close the store, if it is still open, and remove its data. Given what `reopen` returned last, else what `create` did. */
  destroy(store: Store): void | Promise<void>
  /** Closes the store and opens its data again. Default: `close`, then `openAnother`. Must be there, one or the other, for a durable store. */
  reopen?(store: Store): Store | Promise<Store>
  /** A second store over the same data, as another process has it. The suite closes it. The first may be closed already. */
  openAnother?(store: Store): Store | Promise<Store>
  /** A new, empty store with `audit: false`. */
  createWithoutAudit?(): Store | Promise<Store>
  /** What moves the store's time. Default: real time, with short waits. */
  readonly clock?: TestClock
}

export type TestClock = {
  now(): number
  advance(ms: number): Promise<void>
  set(now: number): Promise<void>
}

/** Declares the cases that every store must pass, one group for each promise. Cases that need an option that is not there are skipped. */
export function testStore(runner: TestRunner, options: StoreUnderTest): void {
  const suite = createSuite(runner, options)
  for (const declare of promises) declare(suite)
}

const promises: readonly ((suite: Suite) => void)[] = [appendAndRead]
