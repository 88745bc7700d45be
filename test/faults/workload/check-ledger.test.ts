import { expect, test } from 'vitest'
import type { NewEvent } from '../../../src/log/events.ts'
import type { Change } from '../../../src/store/change.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { checkLedger } from './check-ledger.ts'
import { Ledger } from './ledger.ts'
import { newLane, type PlannedCommit, planLaneCommit } from './plan-commit.ts'

/** A commit with a message and a suspended call, of which a store can lose every part. */
function plan(): PlannedCommit {
  const random = seededRandom(1)
  const lane = { ...newLane('conversation'), lastSeq: 1, epoch: 1 }
  for (;;) {
    const planned = planLaneCommit(random, lane, '@a.1@', 0)
    if (!planned.change.calls) continue
    const { expectedSeq: _, key: __, digest: ___, epoch: ____, ...change } = planned.change
    return { ...planned, change: { ...change, events: [message('@a.1@'), ...change.events] } }
  }
}

function message(commit: string): NewEvent {
  return { type: 'user_msg', content: { turnId: 'turn', message: { parts: [] }, options: { commit }, who: 'writer' } }
}

/** What is found when `planned` was acknowledged and the store has made `written` of it. */
async function violationsWhen(planned: PlannedCommit, written: readonly Change[]): Promise<readonly string[]> {
  const store = memoryStore()
  for (const change of written) await store.commit(planned.conversation, change)
  const ledger = new Ledger()
  ledger.hear({ type: 'begin', planned })
  ledger.hear({ type: 'answer', commit: planned.commit, result: { ok: true, seq: planned.change.events.length } })
  const { violations } = await checkLedger(store, ledger)
  await store.close()
  return violations
}

const planned = plan()
const { change } = planned

test('a commit that is there as it was sent is in order', async () => {
  expect(await violationsWhen(planned, [change])).toEqual([])
})

test('an acknowledged commit that is not there is lost', async () => {
  expect(await violationsWhen(planned, [])).toEqual(['@a.1@ was acknowledged and is lost'])
})

test('a commit without its last event is half', async () => {
  const half = { ...change, events: change.events.slice(0, -1) }
  expect(await violationsWhen(planned, [half])).toContain('@a.1@ is not in the log as it was sent')
})

test('events without their call row are half a change', async () => {
  const { calls: _, ...half } = change
  expect(await violationsWhen(planned, [half])).toContainEqual(expect.stringContaining('has events without a row'))
})

test('call rows without their events are half a change', async () => {
  const half = { events: [message('@b.1@')], calls: change.calls! }
  expect(await violationsWhen(planned, [half])).toContainEqual(expect.stringContaining('has a row without its events'))
})

test('a change without its cached state is half', async () => {
  const { fsmState: _, ...half } = change
  expect(await violationsWhen(planned, [half])).toEqual([
    'conversation has a cached state its last commit did not bring',
  ])
})

test('a commit that is there twice is found', async () => {
  const other = { events: [message('@b.1@')] }
  expect(await violationsWhen(planned, [change, other, { events: [message('@a.1@')] }])).toContain(
    '@a.1@ is in the log twice',
  )
})

test('a failure that promised nothing was written must be true', async () => {
  const store = memoryStore()
  await store.commit(planned.conversation, change)
  const failure = { name: 'StoreError', code: 'store_failed', isStoreError: true, isAmbiguous: false, message: '' }
  const ledger = new Ledger()
  ledger.hear({ type: 'begin', planned })
  ledger.hear({ type: 'failed', commit: planned.commit, failure })
  const { violations } = await checkLedger(store, ledger)
  await store.close()
  expect(violations).toEqual(['@a.1@ failed with the promise that nothing was written, and is in the log'])
})
