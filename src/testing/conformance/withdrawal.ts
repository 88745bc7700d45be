import type { NewEvent } from '../../log/events.ts'
import type { Summary } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import { assistantMsg, observe, titled, turnEnded, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function withdrawal({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('withdrawn turns', () => {
    test('the commit deletes the summaries that reach there, and revival reads from the one before', async ({
      store,
    }) => {
      await threeTurns(store)
      for (const toSeq of [3, 6, 9]) await store.putSummary('chat', summary(toSeq))
      expect(await store.commit('chat', replacing(4, 'turn-4', 9))).toMatchObject({ ok: true, seq: 11 })
      expect(await store.latestSummary('chat')).toEqual(summary(3))
      const { events } = await store.loadSince('chat')
      expect(events.map(({ seq }) => seq)).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
    })

    test('a summary that ends where the withdrawn turns begin is deleted, and one that ends before stays', async ({
      store,
    }) => {
      await threeTurns(store)
      for (const toSeq of [3, 4]) await store.putSummary('chat', summary(toSeq))
      await store.commit('chat', replacing(4, 'turn-4', 9))
      expect((await store.latestSummary('chat'))!.toSeq).toBe(3)
    })

    test('summaries of other conversations and tenants stay', async ({ store }) => {
      const elsewhere = store.forTenant('acme')
      for (const [place, id] of [
        [store, 'chat'],
        [store, 'other'],
        [elsewhere, 'chat'],
      ] as const) {
        await threeTurns(place, id)
        await place.putSummary(id, summary(6))
      }
      await store.commit('chat', replacing(4, 'turn-4', 9))
      expect(await store.latestSummary('chat')).toBe(null)
      expect((await store.latestSummary('other'))!.toSeq).toBe(6)
      expect((await elsewhere.latestSummary('chat'))!.toSeq).toBe(6)
    })

    test('a commit that is refused deletes nothing', async ({ store }) => {
      await threeTurns(store)
      await store.putSummary('chat', summary(6))
      expect(await store.commit('chat', replacing(4, 'turn-4', 8))).toMatchObject({ ok: false, conflict: 'seq' })
      expect((await store.latestSummary('chat'))!.toSeq).toBe(6)
    })

    test('a key that is sent again deletes no summary that was put since', async ({ store }) => {
      await threeTurns(store)
      const change = { ...replacing(4, 'turn-4', 9), key: 'again' }
      await store.commit('chat', change)
      await store.commit('chat', { events: [turnEnded('turn-4')] })
      await store.putSummary('chat', { ...summary(12), plannedOn: 12 })
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 11 })
      expect((await store.latestSummary('chat'))!.toSeq).toBe(12)
    })

    test('a summary that was planned before the withdrawal is refused, whatever it covers', async ({ store }) => {
      await threeTurns(store)
      await store.commit('chat', replacing(4, 'turn-4', 9))
      for (const planned of [{}, { plannedOn: 6 }, { plannedOn: 9 }]) {
        const error = await refused('summary_superseded', () => store.putSummary('chat', { ...summary(6), ...planned }))
        expect(error.message.includes('at 10')).toBe(true)
      }
      expect(await store.latestSummary('chat')).toBe(null)
      await store.putSummary('chat', { ...summary(3), plannedOn: 10 })
      await store.putSummary('chat', { ...summary(11), plannedOn: 11 })
      expect(await store.latestSummary('chat')).toEqual(summary(11))
    })

    test('a seq that a summary cannot have been planned on is refused', async ({ store }) => {
      await threeTurns(store)
      for (const plannedOn of [5, -1, 6.5, Number.NaN, '9' as never])
        await refused(
          'invalid_argument',
          () => store.putSummary('chat', { ...summary(6), plannedOn }),
          String(plannedOn),
        )
      expect(await store.latestSummary('chat')).toBe(null)
    })

    testTwoStores(
      'of a withdrawal and summaries that come at once, none is left that tells of it',
      async ({ store, other }) => {
        await threeTurns(store)
        await Promise.all([
          ...[6, 9].map((toSeq) => other.putSummary('chat', { ...summary(toSeq), plannedOn: 9 }).catch(() => {})),
          store.commit('chat', replacing(4, 'turn-4', 9)),
          ...[6, 9].map((toSeq) => other.putSummary('chat', { ...summary(toSeq), plannedOn: 9 }).catch(() => {})),
        ])
        expect(await store.latestSummary('chat')).toBe(null)
      },
    )

    test('a withdrawal without its message, without the log it was decided on, or past its end is refused', async ({
      store,
    }) => {
      await threeTurns(store)
      await store.putSummary('chat', summary(6))
      const before = await observe(store, { ids: ['chat'] })
      const mark: NewEvent = { type: 'superseded', content: { fromSeq: 4, by: 'turn-4' } }
      const late: NewEvent = { type: 'superseded', content: { fromSeq: 10, by: 'turn-4' } }
      const message = userMsg('again', 'turn-4')
      for (const [what, attempt] of [
        ['alone', () => store.appendEvent('chat', mark)],
        ['no seq', () => store.commit('chat', { events: [mark, message] })],
        ['no message', () => store.commit('chat', { events: [mark], expectedSeq: 9 })],
        ['message first', () => store.commit('chat', { events: [message, mark], expectedSeq: 9 })],
        ['other turn', () => store.commit('chat', { events: [mark, userMsg('again', 'turn-5')], expectedSeq: 9 })],
        ['not next', () => store.commit('chat', { events: [mark, titled('A'), message], expectedSeq: 9 })],
        ['past the end', () => store.commit('chat', { events: [late, message], expectedSeq: 9 })],
      ] as const)
        await refused('invalid_argument', attempt, what)
      expect(await observe(store, { ids: ['chat'] })).toEqual(before)
      expect((await store.latestSummary('chat'))!.toSeq).toBe(6)
    })
  })
}

/** Turns from 1, 4 and 7 on. */
async function threeTurns(store: TenantStore, id = 'chat'): Promise<void> {
  const turn = (n: number) => [userMsg(`${n}`, `turn-${n}`), assistantMsg(), turnEnded(`turn-${n}`)]
  await store.commit(id, { events: [...turn(1), ...turn(2), ...turn(3)] })
}

function replacing(fromSeq: number, by: string, expectedSeq: number) {
  const events: NewEvent[] = [{ type: 'superseded', content: { fromSeq, by } }, userMsg('again', by)]
  return { events, expectedSeq }
}

function summary(toSeq: number): Summary {
  const base = { lastSeq: toSeq, title: null, seed: null, turns: [] }
  return { fromSeq: 1, toSeq, content: { text: `up to ${toSeq}` }, version: 1, base }
}
