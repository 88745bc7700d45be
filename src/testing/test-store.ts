import type { Store } from '../store/store.ts'
import { appendAndRead, boundedPages } from './conformance/append-and-read.ts'
import { callMeta } from './conformance/call-meta.ts'
import { callRows, resolveOnce } from './conformance/call-rows.ts'
import { claimDue } from './conformance/claim-due.ts'
import { conversations, inbox, listing } from './conformance/conversations.ts'
import { creation, deletion, tombstones } from './conformance/creation.ts'
import { deadlines } from './conformance/deadlines.ts'
import { eventsFromOutside, limitsAndBadInput } from './conformance/events-from-outside.ts'
import { expiry, rounds } from './conformance/expiry.ts'
import { forkCalls, forkDormancy } from './conformance/fork-calls.ts'
import { forkLog, movedLogs } from './conformance/fork-log.ts'
import { jobs } from './conformance/jobs.ts'
import { leasesAndEpochs } from './conformance/leases-and-epochs.ts'
import { limits } from './conformance/limits.ts'
import { nodes } from './conformance/nodes.ts'
import { outbox } from './conformance/outbox.ts'
import { owners } from './conformance/owners.ts'
import { pauses } from './conformance/pauses.ts'
import { quarantine } from './conformance/quarantine.ts'
import { keys, refusedCommits } from './conformance/refused-commits.ts'
import { closing, hints, reopening, snapshots } from './conformance/reopening.ts'
import { createSuite, type Suite } from './conformance/suite.ts'
import { blobs, summariesAndRevival } from './conformance/summaries-and-revival.ts'
import { ids, tenants } from './conformance/tenants.ts'
import { searching, titles } from './conformance/titles.ts'
import { modelCalls, upkeep } from './conformance/upkeep.ts'
import { values } from './conformance/values.ts'
import { clocks, dueWork, wakeUps } from './conformance/wake-ups.ts'
import { withdrawal } from './conformance/withdrawal.ts'

/** The store under test, as the suite gets it. */
export type StoreUnderTest = {
  /** A new, empty store. Called once for each case. */
  create(): Store | Promise<Store>
  /** Must close the store, if it is still open, and remove its data. Gets what `reopen` returned last, else what `create` returned. */
  destroy(store: Store): void | Promise<void>
  /** Closes the store and opens its data again. Default: `close`, then `openAnother`. A durable store must have one of the two. */
  reopen?(store: Store): Store | Promise<Store>
  /** A second store over the same data, as another process would open it. The suite closes it. The first may be closed already. */
  openAnother?(store: Store): Store | Promise<Store>
  /** A new, empty store with `audit: false`. */
  createWithoutAudit?(): Store | Promise<Store>
  /** Moves the store's time. Default: real time, with short waits. */
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
  owners,
  searching,
  quarantine,
  movedLogs,
  creation,
  callRows,
  callMeta,
  eventsFromOutside,
  resolveOnce,
  rounds,
  expiry,
  deadlines,
  wakeUps,
  dueWork,
  claimDue,
  clocks,
  summariesAndRevival,
  withdrawal,
  conversations,
  titles,
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
  tombstones,
  hints,
  closing,
  reopening,
  upkeep,
  outbox,
  limits,
  jobs,
  nodes,
  pauses,
]

/** What the suite needs from a test runner. vitest and jest fit as they are, `node:test` with the `expect` package. */
export type TestRunner = {
  describe(name: string, body: () => void): unknown
  test: TestFunction
  expect(actual: unknown): Matchers
  /** If present, cases that leave no trace share a store, which makes the suite faster when opening one is slow. */
  afterAll?(body: () => Promise<void>): unknown
}

/** Declares a case, or one that is shown as skipped. */
export type TestFunction = {
  (name: string, body: () => Promise<void>): unknown
  skip(name: string, body: () => Promise<void>): unknown
}

/** The matchers the suite uses; each throws when it fails. */
export type Matchers = {
  toBe(expected: unknown): unknown
  toEqual(expected: unknown): unknown
  toMatchObject(expected: object): unknown
  toBeGreaterThan(expected: number): unknown
  toBeGreaterThanOrEqual(expected: number): unknown
  toBeLessThan(expected: number): unknown
}
