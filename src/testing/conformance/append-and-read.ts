import type { LogEvent } from '../../log/events.ts'
import type { EventPage, Store } from '../../store/store.ts'
import { carrying, seeded, suspendCalls, titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function appendAndRead({ describe, test, testTwoStores, expect }: Suite): void {
  describe('appending and reading', () => {
    test('the first event has seq 1 and the next ones follow without a gap', async ({ store }) => {
      expect(await store.appendEvent('chat', userMsg())).toBe(1)
      expect(await store.appendEvent('chat', titled('A'))).toBe(2)
      expect(await store.appendEvent('chat', titled('B'))).toBe(3)
      expect(seqs(await store.streamEvents('chat'))).toEqual([1, 2, 3])
    })

    test('an event is read with its conversation, seq, time, type and content, and nothing else', async ({ store }) => {
      await store.appendEvent('chat', userMsg('hello'))
      const [event] = await store.streamEvents('chat')
      expect(Object.keys(event!).sort()).toEqual(['at', 'content', 'conversationId', 'seq', 'type'])
      expect(event).toMatchObject({ ...userMsg('hello'), conversationId: 'chat', seq: 1 })
      expect(Number.isSafeInteger(event!.at)).toBe(true)
      expect((await store.getConversation('chat'))!.createdAt).toBe(event!.at)
    })

    test('the events of one commit follow each other, and its seq is that of the last', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const result = await store.commit('chat', { events: [titled('A'), titled('B'), titled('C')] })
      expect(result).toMatchObject({ ok: true, seq: 4 })
      const events = await store.streamEvents('chat', { after: 1 })
      expect(events.map(({ seq, content }) => [seq, content])).toEqual([
        [2, { title: 'A' }],
        [3, { title: 'B' }],
        [4, { title: 'C' }],
      ])
    })

    test('the time that a commit returns is that of its events', async ({ store }) => {
      const result = await store.commit('chat', { events: [userMsg(), titled('A')], key: 'once' })
      const [first, second] = await store.streamEvents('chat')
      expect(second!.at).toBe(first!.at)
      const told = result as { at?: number }
      if (told.at !== undefined) expect(told.at).toBe(first!.at)
    })

    test('an unknown conversation has an empty log', async ({ store }) => {
      expect(await store.streamEvents('absent')).toEqual([])
      expect(await store.loadSince('absent')).toEqual({ summary: null, events: [] })
      expect(await store.getConversation('absent')).toBe(null)
    })

    test('bounds are exclusive, and a limit keeps the newest of the range in ascending order', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), ...['A', 'B', 'C', 'D', 'E'].map(titled)] })
      const cases = [
        [{}, [1, 2, 3, 4, 5, 6]],
        [{ after: 0 }, [1, 2, 3, 4, 5, 6]],
        [{ after: 2 }, [3, 4, 5, 6]],
        [{ after: 6 }, []],
        [{ after: 100 }, []],
        [{ before: 0 }, []],
        [{ before: 1 }, []],
        [{ before: 3 }, [1, 2]],
        [{ before: 7 }, [1, 2, 3, 4, 5, 6]],
        [{ before: 100 }, [1, 2, 3, 4, 5, 6]],
        [{ after: 2, before: 5 }, [3, 4]],
        [{ after: 3, before: 4 }, []],
        [{ after: 5, before: 2 }, []],
        [{ limit: 1 }, [6]],
        [{ limit: 4 }, [3, 4, 5, 6]],
        [{ limit: 100 }, [1, 2, 3, 4, 5, 6]],
        [{ before: 5, limit: 2 }, [3, 4]],
        [{ after: 4, limit: 1 }, [6]],
        [{ after: 1, before: 6, limit: 3 }, [3, 4, 5]],
      ] as const
      for (const [range, expected] of cases) {
        expect([range, seqs(await store.streamEvents('chat', range))]).toEqual([range, expected])
      }
    })

    test('each conversation counts for itself', async ({ store }) => {
      await store.appendEvent('one', userMsg())
      await store.appendEvent('one', titled('A'))
      expect(await store.appendEvent('two', userMsg())).toBe(1)
      expect(await store.appendEvent('one', titled('B'))).toBe(3)
      expect(seqs(await store.streamEvents('two'))).toEqual([1])
    })

    test('fifty concurrent appends get fifty seqs, and each returns its own', async ({ store }) => {
      await fiftyAppends([store])
    })

    testTwoStores('fifty appends through two stores get fifty places', async ({ store, other }) => {
      await fiftyAppends([store, other])
      expect(await other.streamEvents('chat')).toEqual(await store.streamEvents('chat'))
    })

    test('appends to many conversations at once do not mix', async ({ store }) => {
      const ids = Array.from({ length: 20 }, (_, number) => `chat-${number}`)
      await Promise.all(ids.flatMap((id) => [store.appendEvent(id, carrying(id)), store.appendEvent(id, carrying(id))]))
      for (const id of ids) {
        const events = await store.streamEvents(id)
        expect(events.map((event) => [event.conversationId, event.seq, resultOf(event)])).toEqual([
          [id, 1, id],
          [id, 2, id],
        ])
      }
    })

    test('changing an object that was written or read does not change the log', async ({ store }) => {
      const given = { list: [1] }
      await store.appendEvent('chat', carrying(given))
      given.list.push(2)
      const [read] = await store.streamEvents('chat')
      ;(resultOf(read!) as { list: number[] }).list.push(3)
      expect(resultOf((await store.streamEvents('chat'))[0]!)).toEqual({ list: [1] })
    })
  })

  async function fiftyAppends(stores: readonly Store[]): Promise<void> {
    const numbers = Array.from({ length: 50 }, (_, number) => number)
    const told = await Promise.all(
      numbers.map((number) => stores[number % stores.length]!.appendEvent('chat', carrying(number))),
    )
    const events = await stores[0]!.streamEvents('chat')
    expect(seqs(events)).toEqual(numbers.map((number) => number + 1))
    expect(told.map((seq) => resultOf(events[seq - 1]!))).toEqual(numbers)
  }
}

function seqs(events: readonly LogEvent[]): number[] {
  return events.map((event) => event.seq)
}

function resultOf(event: LogEvent): unknown {
  return (event.content as { result?: unknown }).result
}

/** The bytes around the title in an encoded `titled` event: `{"title":""}`. */
const frame = 12

export function boundedPages({ describe, test, expect }: Suite): void {
  describe('bounded pages', () => {
    test('maxBytes keeps as many whole events as fit, from either end of the range, and at least one', async ({
      store,
    }) => {
      // 100 bytes each, except the fourth with 1,000.
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
        expect([range, seqsOf(await store.streamEvents('chat', range))]).toEqual([range, expected])
        expect([range, seqsOf((await store.pageEvents('chat', range)).events)]).toEqual([range, expected])
      }
    })

    test('bytes are those of the JSON in UTF-8', async ({ store }) => {
      for (const text of ['é'.repeat(44), '€'.repeat(29), '\u0001'.repeat(15), '"'.repeat(44)]) {
        const bytes = Buffer.byteLength(JSON.stringify({ title: text }))
        const id = `chat ${text.codePointAt(0)}`
        await store.commit(id, { events: [userMsg(), titled(text), titled(text)] })
        expect(seqsOf(await store.streamEvents(id, { maxBytes: 2 * bytes }))).toEqual([2, 3])
        expect(seqsOf(await store.streamEvents(id, { maxBytes: 2 * bytes - 1 }))).toEqual([3])
      }
    })

    test('a page says where it begins and ends, and reading on until it says so reads all, once', async ({ store }) => {
      const sizes = [10, 400_000, 20, 900_000, 900_000, 5, 1_048_000, 700_000, 1, 1]
      await store.appendEvent('chat', userMsg())
      for (const size of sizes) await store.appendEvent('chat', seeded('x'.repeat(size)))
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
      const empty = await store.pageEvents('absent', { maxBytes: 1 })
      expect([...empty.events, empty.first, empty.last, empty.hasMore]).toEqual([null, null, false])
    })

    test('what revival reads can be a page, of the oldest events after the summary', async ({ store }) => {
      const titles = Array.from({ length: 5 }, () => titled('x'.repeat(100 - frame)))
      await store.putConversation('chat', {})
      await store.commit('chat', { events: titles })
      const read = async (bounds: { limit?: number; maxBytes?: number }) => {
        const { summary, page } = await store.pageSince('chat', bounds)
        return [summary?.toSeq ?? null, seqsOf(page.events), page.hasMore]
      }
      expect(await read({ limit: 2 })).toEqual([null, [1, 2], true])
      expect(await read({ maxBytes: 250 })).toEqual([null, [1, 2], true])
      await store.putSummary('chat', { fromSeq: 1, toSeq: 2, content: 'so far', version: 1, base: null })
      expect(await read({ limit: 2 })).toEqual([2, [3, 4], true])
      expect(await read({ maxBytes: 1 })).toEqual([2, [3], true])
      expect(await read({ maxBytes: 10_000_000, limit: 100 })).toEqual([2, [3, 4, 5], false])
    })

    test('a page of conversations ends where the next one does not fit, and the next page continues there', async ({
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

    test('a page of the inbox ends where the next call does not fit, and the next page continues there', async ({
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
    return seqsOf(read)
  }

  /** How many items each page has; together the pages must have all ids, newest first. */
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

function seqsOf(events: Iterable<LogEvent>): number[] {
  return Array.from(events, ({ seq }) => seq)
}
