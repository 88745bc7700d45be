import { expect, test } from 'vitest'
import { called, cancelled, replied, said, suspended } from '../../test/log/story.ts'
import { silentLogger } from '../base/logger.ts'
import { childIdOf, childTurnIdOf } from '../log/child-call.ts'
import type { NewEvent } from '../log/events.ts'
import { KnownPauses } from '../store/known-pauses.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { WorkingSets } from '../store/working-sets.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { cancelQuarantined } from './cancel-quarantined.ts'

const tenant = 'default'
const childId = childIdOf('c1')
const waiting: NewEvent[] = [
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1'] }),
  called('c1', { executor: 'agent' }),
  suspended('c1', 'sub_agent'),
]

function node() {
  const clock = fakeClock()
  const all = memoryStore({ clock, logger: silentLogger })
  const store = all.forTenant(tenant)
  const runtime = {
    node: { store: all, workingSets: new WorkingSets(), agents: new Map(), pauses: new KnownPauses(undefined, {}) },
    worker: null,
  }
  const quarantine = async (id: string) => {
    for (let lapse = 0; lapse < 6; lapse++) {
      await store.claimLease(id, `node ${lapse}`, 10)
      await clock.advance(11)
    }
    expect((await store.getConversation(id))?.quarantine).not.toBe(undefined)
  }
  const begin = (id: string, events: readonly NewEvent[], parent?: { id: string; callId: string }) =>
    store.commit(id, {
      ...{ events: [...events], conversation: { agent: 'a', ...(parent ? { parent } : {}) } },
      calls: events.some(({ type }) => type === 'suspension')
        ? [{ id: 'c1', round: 1, kind: 'sub_agent' as const, executor: 'agent' as const, name: 'child' }]
        : [],
    })
  const cancel = () => cancelQuarantined(runtime as never, { tenant, id: 'p' })
  const ends = async (id: string) =>
    (await store.streamEvents(id)).filter(({ type }) => type === 'turn_ended').map(({ content }) => content)
  return { store, quarantine, begin, cancel, ends }
}

test('a conversation that is not quarantined is left to its owner', async () => {
  const { begin, cancel, ends } = node()
  await begin('p', [...waiting, cancelled('t1')])
  await cancel()
  expect(await ends('p')).toEqual([])
})

test('a turn that was not asked to cancel stays open', async () => {
  const { begin, quarantine, cancel, ends } = node()
  await begin('p', waiting)
  await quarantine('p')
  await cancel()
  expect(await ends('p')).toEqual([])
})

test('the children of a turn are asked to end, in the name of the user who asked their parent, and are not waited for', async () => {
  const { store, begin, quarantine, cancel, ends } = node()
  await begin('p', [...waiting, cancelled('t1')])
  await begin(childId, [said(childTurnIdOf('c1'))], { id: 'p', callId: 'c1' })
  await quarantine('p')
  await cancel()
  expect(await ends('p')).toMatchObject([{ turnId: 't1', status: 'cancelled' }])
  const asked = (await store.streamEvents(childId)).at(-1)
  expect(asked).toMatchObject({ type: 'cancel_requested', content: { turnId: 'turn-c1', who: 'bob' } })
  // Again, after the acknowledgement was lost: it is asked once.
  await cancel()
  expect(await store.streamEvents(childId)).toHaveLength(2)
})

test('a child that is quarantined itself is ended too, and one that was never started is passed over', async () => {
  const both = node()
  await both.begin('p', [...waiting, cancelled('t1')])
  await both.begin(childId, [said(childTurnIdOf('c1'))], { id: 'p', callId: 'c1' })
  await both.quarantine('p')
  await both.quarantine(childId)
  await both.cancel()
  expect(await both.ends('p')).toMatchObject([{ status: 'cancelled' }])
  expect(await both.ends(childId)).toMatchObject([{ turnId: 'turn-c1', status: 'cancelled' }])

  const alone = node()
  await alone.begin('p', [...waiting, cancelled('t1')])
  await alone.quarantine('p')
  await alone.cancel()
  expect(await alone.ends('p')).toMatchObject([{ status: 'cancelled' }])
  expect(await alone.store.getConversation(childId)).toBe(null)
})

test('of a queue only what was asked to end does', async () => {
  const { begin, quarantine, cancel, ends } = node()
  await begin('p', [...waiting, said('t2'), said('t3'), cancelled('t3')])
  await quarantine('p')
  await cancel()
  expect(await ends('p')).toMatchObject([{ turnId: 't3', status: 'cancelled' }])
})
