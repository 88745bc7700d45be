import type { Store } from '../store/store.ts'
import { appendAndRead } from './conformance/append-and-read.ts'
import { blobs } from './conformance/blobs.ts'
import { boundedPages } from './conformance/bounded-pages.ts'
import { callRows } from './conformance/call-rows.ts'
import { clocks } from './conformance/clocks.ts'
import { closing } from './conformance/closing.ts'
import { conversations } from './conformance/conversations.ts'
import { creation } from './conformance/creation.ts'
import { deletion } from './conformance/deletion.ts'
import { dueWork } from './conformance/due-work.ts'
import { eventsFromOutside } from './conformance/events-from-outside.ts'
import { expiry } from './conformance/expiry.ts'
import { forkCalls } from './conformance/fork-calls.ts'
import { forkDormancy } from './conformance/fork-dormancy.ts'
import { forkLog } from './conformance/fork-log.ts'
import { hints } from './conformance/hints.ts'
import { ids } from './conformance/ids.ts'
import { inbox } from './conformance/inbox.ts'
import { keys } from './conformance/keys.ts'
import { leasesAndEpochs } from './conformance/leases-and-epochs.ts'
import { limitsAndBadInput } from './conformance/limits-and-bad-input.ts'
import { listing } from './conformance/listing.ts'
import { modelCalls } from './conformance/model-calls.ts'
import { movedLogs } from './conformance/moved-logs.ts'
import { quarantine } from './conformance/quarantine.ts'
import { refusedCommits } from './conformance/refused-commits.ts'
import { reopening } from './conformance/reopening.ts'
import { resolveOnce } from './conformance/resolve-once.ts'
import { rounds } from './conformance/rounds.ts'
import { snapshots } from './conformance/snapshots.ts'
import { createSuite, type Suite } from './conformance/suite.ts'
import { summariesAndRevival } from './conformance/summaries-and-revival.ts'
import { tenants } from './conformance/tenants.ts'
import { upkeep } from './conformance/upkeep.ts'
import { values } from './conformance/values.ts'
import { wakeUps } from './conformance/wake-ups.ts'
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

/** Moves the store's time: `advance` lets time pass, `set` jumps. */
export type TestClock = {
  now(): number
  advance(ms: number): Promise<void>
  set(now: number): Promise<void>
}

/**
 * Declares the cases that every store must pass, one group for each promise. Cases that need an option that is not there are skipped.
 *
 * ```ts
 * import { describe, expect, test } from 'vitest'
 * import { testStore } from 'perdure/testing'
 *
 * let path = ''
 * const open = () => myStore({ path })
 * const create = () => {
 *   path = newTemporaryPath()
 *   return open()
 * }
 * testStore({ describe, test, expect }, { create, openAnother: open, destroy: (store) => store.close() })
 * ```
 */
export function testStore(runner: TestRunner, options: StoreUnderTest): void {
  const suite = createSuite(runner, options)
  for (const declare of promises) declare(suite)
}

const promises: readonly ((suite: Suite) => void)[] = [
  appendAndRead,
  boundedPages,
  refusedCommits,
  keys,
  leasesAndEpochs,
  quarantine,
  movedLogs,
  creation,
  callRows,
  eventsFromOutside,
  resolveOnce,
  rounds,
  expiry,
  wakeUps,
  dueWork,
  clocks,
  summariesAndRevival,
  conversations,
  listing,
  inbox,
  forkLog,
  forkCalls,
  forkDormancy,
  tenants,
  values,
  ids,
  limitsAndBadInput,
  blobs,
  snapshots,
  modelCalls,
  deletion,
  hints,
  closing,
  reopening,
  upkeep,
]
