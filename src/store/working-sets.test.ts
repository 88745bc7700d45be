import { expect, test } from 'vitest'
import { ended, replied, said } from '../../test/log/story.ts'
import { silentLogger } from '../base/logger.ts'
import { baseOf, emptyState } from '../log/state.ts'
import { memoryStore } from './memory/memory-store.ts'
import type { EventPage, Store } from './store.ts'
import { caughtUp, loadWhole, WorkingSets } from './working-sets.ts'

/** A store that counts how often a log is read from its beginning, and how often from where it was left. */
function countedStore() {
  const counts = { whole: 0, tail: 0 }
  const store = memoryStore({ logger: silentLogger })
  const counted: Store = {
    ...store,
    pageSince: (id, bounds) => {
      counts.whole += 1
      return store.pageSince(id, bounds)
    },
    pageEvents: (id, range) => {
      counts.tail += 1
      return store.pageEvents(id, range)
    },
  }
  return { store: counted, counts }
}

async function write(store: Store, id: string, ...turnIds: string[]): Promise<void> {
  for (const turnId of turnIds) await store.commit(id, { events: [said(turnId)] })
}

test('a conversation is read whole the first time, and then only its new events', async () => {
  const { store, counts } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1')
  expect((await sets.load(store, 'default', 'c1')).state.lastSeq).toBe(1)
  await write(store, 'c1', 't2')
  const { state } = await sets.load(store, 'default', 'c1')
  expect(state.turns.map((turn) => turn.turnId)).toEqual(['t1', 't2'])
  expect(counts).toEqual({ whole: 1, tail: 1 })
})

test('keeps the most recently used sets, up to the limit', async () => {
  const { store, counts } = countedStore()
  const sets = new WorkingSets({ sets: 2 })
  for (const id of ['c1', 'c2', 'c3']) await write(store, id, 't1')
  for (const id of ['c1', 'c2', 'c1', 'c3']) await sets.load(store, 'default', id)
  expect(counts.whole).toBe(3)
  await sets.load(store, 'default', 'c1')
  expect(counts.whole).toBe(3)
  await sets.load(store, 'default', 'c2')
  expect(counts.whole).toBe(4)
})

test('two hundred sets are kept, or sixty-four megabytes of them', () => {
  const keep = (sets: WorkingSets, count: number, weight: number) => {
    for (let n = 0; n < count; n++) {
      const state = { ...emptyState, lastSeq: 1 }
      sets.keep('default', `c${n}`, { state, lastAt: 1, origin: { summary: null }, weight })
    }
    return [0, 1].map((n) => sets.peek('default', `c${n}`) !== null)
  }
  expect(keep(new WorkingSets(), 200, 1)).toEqual([true, true])
  expect(keep(new WorkingSets(), 201, 1)).toEqual([false, true])
  const megabytes = 8 * 1024 * 1024
  expect(keep(new WorkingSets(), 8, megabytes)).toEqual([true, true])
  expect(keep(new WorkingSets(), 9, megabytes)).toEqual([false, true])
})

test('a tenant does not get what another has', async () => {
  const { store } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1')
  await sets.load(store, 'default', 'c1')
  const other = await sets.load(store.forTenant('other'), 'other', 'c1')
  expect(other.state.lastSeq).toBe(0)
})

/** The last events of a log, as a claim brings them. */
const endOf = (store: Store, id: string, after: number): Promise<EventPage> =>
  store.pageEvents(id, { after, keep: 'oldest' })

test('the end of a log that came with a claim is not read again where it joins what is known, or is the whole log', async () => {
  const { store, counts } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1', 't2')
  const whole = await endOf(store, 'c1', 0)
  const begun = await sets.loadWhole(store, 'default', 'c1', whole)
  expect(begun).toMatchObject({ lastAt: whole.last?.at, origin: { summary: null }, state: { lastSeq: 2 } })
  await write(store, 'c1', 't3', 't4')
  const end = await endOf(store, 'c1', 1)
  Object.assign(counts, { whole: 0, tail: 0 })
  const grown = await sets.loadWhole(store, 'default', 'c1', end)
  expect(grown.state).toEqual((await loadWhole(store, 'c1')).state)
  expect([grown.lastAt, grown.origin]).toEqual([end.last?.at, begun.origin])
  expect(sets.peek('default', 'c1')).toBe(grown)
  expect(counts).toEqual({ whole: 1, tail: 0 })
})

test('the end of a log that does not join what is known is left aside', async () => {
  const { store, counts } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1')
  await sets.loadWhole(store, 'default', 'c1')
  await write(store, 'c1', 't2', 't3')
  // Nothing says what is between.
  const late = await sets.loadWhole(store, 'default', 'c1', await endOf(store, 'c1', 2))
  expect(late.state.turns.map((turn) => turn.turnId)).toEqual(['t1', 't2', 't3'])
  expect(counts.whole).toBe(1)
  sets.drop('default', 'c1')
  const unknown = await sets.loadWhole(store, 'default', 'c1', await endOf(store, 'c1', 2))
  expect(unknown.state.turns.map((turn) => turn.turnId)).toEqual(['t1', 't2', 't3'])
  await store.deleteConversation('c1')
  await new Promise((resolve) => setTimeout(resolve, 2))
  await write(store, 'c1', 't7', 't8', 't9')
  const anew = await sets.loadWhole(store, 'default', 'c1', await endOf(store, 'c1', 0))
  expect(anew.state.turns.map((turn) => turn.turnId)).toEqual(['t7', 't8', 't9'])
})

test('a session is no conversation, also where a claim has brought it', async () => {
  const { store } = countedStore()
  const started = { type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } } as const
  await store.commit('s1', { events: [started], conversation: { kind: 'flow', agent: 'flow:f' } })
  const loading = new WorkingSets().loadWhole(store, 'default', 's1', await endOf(store, 's1', 0))
  await expect(loading).rejects.toMatchObject({ code: 'not_a_conversation' })
})

test('a dropped set is read whole again', async () => {
  const { store, counts } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1')
  await sets.load(store, 'default', 'c1')
  sets.drop('default', 'c1')
  await sets.load(store, 'default', 'c1')
  expect(counts.whole).toBe(2)
})

test('a log that was deleted and created again is another one, also when it is shorter', async () => {
  const { store, counts } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1', 't2', 't3')
  const old = await sets.load(store, 'default', 'c1')
  await store.deleteConversation('c1')
  await new Promise((resolve) => setTimeout(resolve, 2))
  await write(store, 'c1', 't9')
  const anew = await sets.load(store, 'default', 'c1')
  expect(anew.state.turns.map((turn) => turn.turnId)).toEqual(['t9'])
  expect(anew.origin).not.toBe(old.origin)
  expect(await caughtUp(store, 'c1', old)).toBeNull()
  // From now on it is the one that is kept.
  const reads = counts.whole
  await sets.load(store, 'default', 'c1')
  expect(counts.whole).toBe(reads)
})

test('an older state of the same log does not take the place of a newer one', async () => {
  const { store } = countedStore()
  const sets = new WorkingSets()
  await write(store, 'c1', 't1')
  const older = await sets.load(store, 'default', 'c1')
  await write(store, 'c1', 't2')
  const newer = await sets.load(store, 'default', 'c1')
  sets.keep('default', 'c1', older)
  await store.deleteConversation('c1')
  expect(await caughtUp(store, 'c1', newer)).toBeNull()
  expect((await sets.load(store, 'default', 'c1')).state.lastSeq).toBe(0)
})

test('with a summary only what came after it is folded, from its base', async () => {
  const { store } = countedStore()
  await store.commit('c1', { events: [said('t1'), replied('t1', 'm1', 1), ended('t1')] })
  const { state } = await loadWhole(store, 'c1')
  await store.putSummary('c1', { fromSeq: 1, toSeq: 3, content: 'they said hello', version: 1, base: baseOf(state) })
  await write(store, 'c1', 't2')
  const revived = await loadWhole(store, 'c1')
  expect(revived.state.turns.map((turn) => turn.turnId)).toEqual(['t2'])
  expect([state.hasOlder, revived.state.hasOlder]).toEqual([undefined, true])
  expect(revived.origin.summary).toMatchObject({ toSeq: 3, content: 'they said hello' })
})

test('a summary without a base cannot stand for the log: all of it is folded', async () => {
  const { store } = countedStore()
  await store.commit('c1', { events: [said('t1'), replied('t1', 'm1', 1), ended('t1')] })
  await store.putSummary('c1', { fromSeq: 1, toSeq: 3, content: 'they said hello', version: 1, base: null })
  await write(store, 'c1', 't2')
  const revived = await loadWhole(store, 'c1')
  expect(revived.state.turns.map((turn) => turn.turnId)).toEqual(['t1', 't2'])
})

test('a base that is not of its seq is left aside', async () => {
  const { store } = countedStore()
  await store.commit('c1', { events: [said('t1'), replied('t1', 'm1', 1), ended('t1')] })
  const state = baseOf((await loadWhole(store, 'c1')).state)
  for (const base of [{ ...state, lastSeq: 0 }, { ...state, lastSeq: 9 }, { lastSeq: 3 }, {}]) {
    await store.putSummary('c1', { fromSeq: 1, toSeq: 3, content: 'hello', version: 1, base: base as typeof state })
    const revived = await loadWhole(store, 'c1')
    expect(revived.state).toMatchObject({ lastSeq: 3, turns: [{ turnId: 't1' }] })
  }
})
