import type { LogEvent } from '../../log/events.ts'
import type { EventPage, Store } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

/** The bytes around the title in an encoded `titled` event: `{"title":""}`. */
const frame = 12

export function boundedPages({ describe, test, expect }: Suite): void {
  describe('bounded pages', () => {
    test('maxBytes keeps as many whole events as fit, from either end of the range, and at least one', async ({
      store,
    }) => {
      // Of 100 bytes each, but for the fourth, of 1,000.
      const titles = [100, 100, 100, 1_000, 100, 100].map((bytes) => titled('x'.repeat(bytes - frame)))
      await store.putConversation('chat', {})
      await store.commit('chat', { events: titles })
      const cases = [
        [{ maxBytes: 1 }, [6]],
        [{ maxBytes: 100 }, [6]],
        [{ maxBytes: 199 }, [6]],
        [{ maxBytes: 200 }, [5, 6]],
        [{ maxBytes: 1_199 }, [5, 6]],
        [{ maxBytes: 1_200 }, [4, 5, 6]],
        [{ maxBytes: 1_000_000 }, [1, 2, 3, 4, 5, 6]],
        [{ maxBytes: 1, before: 5 }, [4]],
        [{ maxBytes: 1_100, before: 5 }, [3, 4]],
        [{ maxBytes: 300, limit: 2, before: 4 }, [2, 3]],
        [{ maxBytes: 200, limit: 3, before: 4 }, [2, 3]],
        [{ maxBytes: 250, after: 1, before: 4 }, [2, 3]],
        [{ maxBytes: 200, after: 6 }, []],
        [{ maxBytes: 1, keep: 'oldest' }, [1]],
        [{ maxBytes: 299, keep: 'oldest' }, [1, 2]],
        [{ maxBytes: 300, keep: 'oldest' }, [1, 2, 3]],
        [{ maxBytes: 1, after: 3, keep: 'oldest' }, [4]],
        [{ maxBytes: 1_100, after: 3, keep: 'oldest' }, [4, 5]],
        [{ maxBytes: 1_000, after: 3, keep: 'oldest', limit: 5 }, [4]],
        [{ limit: 2, keep: 'oldest' }, [1, 2]],
        [{ limit: 2, after: 3, keep: 'oldest' }, [4, 5]],
        [{ limit: 2, keep: 'newest' }, [5, 6]],
        [{ keep: 'oldest' }, [1, 2, 3, 4, 5, 6]],
      ] as const
      for (const [range, expected] of cases) {
        expect([range, seqs(await store.streamEvents('chat', range))]).toEqual([range, expected])
        expect([range, seqs((await store.pageEvents('chat', range)).events)]).toEqual([range, expected])
      }
    })

    test('bytes are those of the JSON in UTF-8', async ({ store }) => {
      for (const text of ['é'.repeat(44), '€'.repeat(29), '\u0001'.repeat(15), '"'.repeat(44)]) {
        const bytes = Buffer.byteLength(JSON.stringify({ title: text }))
        const id = `chat ${text.codePointAt(0)}`
        await store.commit(id, { events: [userMsg(), titled(text), titled(text)] })
        expect(seqs(await store.streamEvents(id, { maxBytes: 2 * bytes }))).toEqual([2, 3])
        expect(seqs(await store.streamEvents(id, { maxBytes: 2 * bytes - 1 }))).toEqual([3])
      }
    })

    test('a page says where it begins and ends, and reading on until it says so reads all, once', async ({ store }) => {
      const sizes = [10, 400_000, 20, 900_000, 900_000, 5, 1_048_000, 700_000, 1, 1]
      await store.appendEvent('chat', userMsg())
      for (const size of sizes) await store.appendEvent('chat', titled('x'.repeat(size)))
      const all = sizes.map((_, index) => index + 1).concat(sizes.length + 1)
      for (const bounds of [{ maxBytes: 2_500_000 }, { maxBytes: 1_500_000, limit: 3 }, { limit: 4 }]) {
        const onwards: number[] = []
        for (let after = 0; ; ) {
          const page = await store.pageEvents('chat', { ...bounds, after, keep: 'oldest' })
          onwards.push(...saysItsEnds(page))
          if (!page.hasMore) break
          after = page.last?.seq ?? after
        }
        expect(onwards).toEqual(all)
        const back: number[] = []
        for (let before = sizes.length + 2; ; ) {
          const page = await store.pageEvents('chat', { ...bounds, before })
          back.unshift(...saysItsEnds(page))
          if (!page.hasMore) break
          before = page.first?.seq ?? 0
        }
        expect(back).toEqual(all)
      }
      const empty = await store.pageEvents('nobody', { maxBytes: 1 })
      expect([...empty.events, empty.first, empty.last, empty.hasMore]).toEqual([null, null, false])
    })

    test('what revival reads can be a page, of the oldest events after the summary', async ({ store }) => {
      const titles = Array.from({ length: 5 }, () => titled('x'.repeat(100 - frame)))
      await store.putConversation('chat', {})
      await store.commit('chat', { events: titles })
      const read = async (bounds: { limit?: number; maxBytes?: number }) => {
        const { summary, page } = await store.pageSince('chat', bounds)
        return [summary?.toSeq ?? null, seqs(page.events), page.hasMore]
      }
      expect(await read({ limit: 2 })).toEqual([null, [1, 2], true])
      expect(await read({ maxBytes: 250 })).toEqual([null, [1, 2], true])
      await store.putSummary('chat', { fromSeq: 1, toSeq: 2, content: 'so far', version: 1, base: null })
      expect(await read({ limit: 2 })).toEqual([2, [3, 4], true])
      expect(await read({ maxBytes: 1 })).toEqual([2, [3], true])
      expect(await read({ maxBytes: 10_000_000, limit: 100 })).toEqual([2, [3, 4, 5], false])
    })

    test('a page of conversations ends where the next one does not fit, and the next page goes on there', async ({
      store,
    }) => {
      const title = 'x'.repeat(1_000)
      for (const id of ['a', 'b', 'c', 'd', 'e']) await store.putConversation(id, { title, settings: { title } })
      expect(await pagesOf((before) => store.listConversations({ ...before, maxBytes: 4_500 }), 'abcde')).toEqual([
        2, 2, 1,
      ])
      expect(await pagesOf((before) => store.listConversations({ ...before, maxBytes: 1 }), 'abcde')).toEqual([
        1, 1, 1, 1, 1,
      ])
      expect((await store.listConversations({ limit: 3, maxBytes: 100_000 })).length).toBe(3)
    })

    test('a page of the inbox ends where the next call does not fit, and the next page goes on there', async ({
      store,
    }) => {
      const callIds = ['a', 'b', 'c', 'd', 'e']
      await suspendCalls(store, 'chat', callIds)
      for (const id of callIds) await store.upsertToolCall('chat', { id, args: 'x'.repeat(1_000) })
      expect(await pagesOf((before) => store.pendingInbox({ ...before, maxBytes: 2_500 }), 'abcde')).toEqual([2, 2, 1])
      expect(await pagesOf((before) => store.pendingInbox({ ...before, maxBytes: 1 }), 'abcde')).toEqual([
        1, 1, 1, 1, 1,
      ])
      expect((await store.pendingInbox({ limit: 3, maxBytes: 100_000 })).length).toBe(3)
    })

    test('a page of model calls ends where the next one does not fit; their contexts can be left out', async ({
      store,
    }) => {
      await store.appendEvent('chat', userMsg())
      const renderedContext = 'x'.repeat(1_000)
      for (const [latencyMs, turnRef] of ['a', 'b', 'b', 'b', 'c'].entries()) {
        await store.putModelCall('chat', { turnRef, latencyMs, renderedContext })
      }
      const cases = [
        [{}, [0, 1, 2, 3, 4]],
        [{ limit: 2 }, [0, 1]],
        [{ skip: 2 }, [2, 3, 4]],
        [{ skip: 2, limit: 2 }, [2, 3]],
        [{ skip: 9 }, []],
        [{ turnRef: 'b' }, [1, 2, 3]],
        [{ turnRef: 'b', skip: 1 }, [2, 3]],
        [{ turnRef: 'x' }, []],
        [{ from: 'b' }, [1, 2, 3, 4]],
        [{ from: 'b', skip: 2 }, [3, 4]],
        [{ from: 'bb' }, [4]],
        [{ from: 'b', turnRef: 'a' }, []],
        [{ maxBytes: 1 }, [0]],
        [{ maxBytes: 2_500 }, [0, 1]],
        [{ maxBytes: 2_500, from: 'b', skip: 2 }, [3, 4]],
        [{ maxBytes: 1_000, contexts: false }, [0, 1, 2, 3, 4]],
        [{ maxBytes: 6, contexts: false }, [0]],
      ] as const
      for (const [range, expected] of cases) {
        const calls = await store.modelCalls('chat', range)
        expect([range, calls.map(({ latencyMs }) => latencyMs)]).toEqual([range, expected])
        const isRead = !('contexts' in range)
        for (const call of calls) expect(call.renderedContext).toBe(isRead ? renderedContext : null)
      }
    })
  })

  function saysItsEnds(page: EventPage): number[] {
    const read = [...page.events]
    const places = read.map(({ seq, at }) => ({ seq, at }))
    expect([page.first, page.last]).toEqual([places[0] ?? null, places.at(-1) ?? null])
    return seqs(read)
  }

  /** How many each page has; together they must have all ids, the newest first. */
  async function pagesOf(
    fetch: (before: { before?: string }) => ReturnType<Store['listConversations' | 'pendingInbox']>,
    ids: string,
  ): Promise<number[]> {
    const found: string[] = []
    const sizes: number[] = []
    for (let before = {}; ; before = { before: found.at(-1) }) {
      const page = await fetch(before)
      if (page.length === 0) break
      sizes.push(page.length)
      for (const { id } of page) found.push(id)
    }
    expect([...found].sort().join('')).toBe(ids)
    return sizes
  }
}

function seqs(events: Iterable<LogEvent>): number[] {
  return Array.from(events, ({ seq }) => seq)
}
