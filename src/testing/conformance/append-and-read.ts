import type { LogEvent } from '../../log/events.ts'
import type { Store } from '../../store/store.ts'
import { carrying, titled, userMsg } from './event-builders.ts'
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

    test('a commit that tells its time tells that of its events', async ({ store }) => {
      const result = await store.commit('chat', { events: [userMsg(), titled('A')], key: 'once' })
      const [first, second] = await store.streamEvents('chat')
      expect(second!.at).toBe(first!.at)
      const told = result as { at?: number }
      if (told.at !== undefined) expect(told.at).toBe(first!.at)
    })

    test('a conversation that nobody knows has an empty log', async ({ store }) => {
      expect(await store.streamEvents('nobody')).toEqual([])
      expect(await store.loadSince('nobody')).toEqual({ summary: null, events: [] })
      expect(await store.getConversation('nobody')).toBe(null)
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

    test('fifty appends at once get fifty places, and each is told its own', async ({ store }) => {
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

    test('what was given or read can be changed without changing the log', async ({ store }) => {
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
