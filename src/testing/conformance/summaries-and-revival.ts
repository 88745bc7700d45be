import type { Summary } from '../../store/summary.ts'
import { assistantMsg, titled, turnEnded, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function summariesAndRevival({ describe, test, expect, refused }: Suite): void {
  describe('summaries and revival', () => {
    test('revival without a summary reads the whole log', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      expect(await store.loadSince('chat')).toEqual({ summary: null, events: await store.streamEvents('chat') })
      expect(await store.latestSummary('chat')).toBe(null)
      expect(await store.latestSummary('nobody')).toBe(null)
    })

    test('revival reads the latest summary and only the events after it', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), assistantMsg(), turnEnded(), userMsg('more', 'turn-2')] })
      await store.putSummary('chat', summary(3))
      expect(await store.loadSince('chat')).toEqual({
        summary: summary(3),
        events: await store.streamEvents('chat', { after: 3 }),
      })
      await store.putSummary('chat', summary(4))
      expect(await store.loadSince('chat')).toEqual({ summary: summary(4), events: [] })
    })

    test('the latest summary is the one that reaches furthest, whenever it was put', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), ...Array.from({ length: 11 }, () => titled('A'))] })
      for (const toSeq of [9, 10, 2]) await store.putSummary('chat', summary(toSeq))
      expect(await store.latestSummary('chat')).toEqual(summary(10))
    })

    test('a summary to the same seq replaces the one before', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.putSummary('chat', summary(1))
      const better: Summary = { ...summary(1), content: 'better', version: 2, base: null }
      await store.putSummary('chat', better)
      expect(await store.latestSummary('chat')).toEqual(better)
    })

    test('a summary leaves the log and its conversation as they were', async ({ store, pass }) => {
      await store.commit('chat', { events: [userMsg(), turnEnded()] })
      const before = { record: await store.getConversation('chat'), events: await store.streamEvents('chat') }
      await pass(3)
      await store.putSummary('chat', summary(2))
      const after = { record: await store.getConversation('chat'), events: await store.streamEvents('chat') }
      expect(after).toEqual(before)
    })

    test('each conversation has its own summaries', async ({ store }) => {
      for (const id of ['one', 'two']) await store.appendEvent(id, userMsg())
      await store.putSummary('one', summary(1))
      expect(await store.latestSummary('two')).toBe(null)
      expect((await store.loadSince('two')).events.length).toBe(1)
    })

    test('a summary that reaches past the end of the log is refused, and what comes later is read', async ({
      store,
    }) => {
      await store.commit('chat', { events: [userMsg(), turnEnded()] })
      await store.putSummary('chat', summary(2))
      for (const toSeq of [3, 4, 1_000])
        await refused('invalid_argument', () => store.putSummary('chat', summary(toSeq)))
      expect(await store.latestSummary('chat')).toEqual(summary(2))
      await store.appendEvent('chat', userMsg('more', 'turn-2'))
      expect((await store.loadSince('chat')).events.map(({ seq }) => seq)).toEqual([3])
      await store.putSummary('chat', summary(3))
      expect(await store.latestSummary('chat')).toEqual(summary(3))
    })

    test('of summaries and events that come at once, no summary reaches past the end', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const writes = Array.from({ length: 20 }, (_, index) => [
        store.appendEvent('chat', titled(`title ${index}`)),
        store.putSummary('chat', summary(index + 2)).then(
          () => index + 2,
          () => 0,
        ),
      ])
      await Promise.all(writes.map(([append]) => append))
      const reached = await Promise.all(writes.map(([, put]) => put!))
      const { lastSeq } = (await store.getConversation('chat'))!
      expect(lastSeq).toBe(21)
      expect((await store.latestSummary('chat'))?.toSeq ?? 0).toBe(Math.max(...reached))
    })

    test('a summary of nothing or of a span that makes no sense is refused', async ({ store }) => {
      await refused('conversation_not_found', () => store.putSummary('nobody', summary(1)))
      await store.appendEvent('chat', userMsg())
      const senseless: Partial<Summary>[] = [
        { fromSeq: -1 },
        { fromSeq: 1.5 },
        { fromSeq: 3, toSeq: 2 },
        { toSeq: Number.NaN },
        { toSeq: Number.POSITIVE_INFINITY },
        { version: -1 },
        { version: 0.5 },
      ]
      for (const part of senseless) {
        await refused('invalid_argument', () => store.putSummary('chat', { ...summary(1), ...part }))
      }
      expect(await store.latestSummary('chat')).toBe(null)
    })
  })
}

function summary(toSeq: number): Summary {
  const base = { lastSeq: toSeq, title: 'A title', seed: null, turns: [] }
  return { fromSeq: 1, toSeq, content: { text: `up to ${toSeq}` }, version: 1, base }
}
