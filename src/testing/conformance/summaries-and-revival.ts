import { createHash } from 'node:crypto'
import type { BlobRef } from '../../log/blob-ref.ts'
import { fitsBeside, type Summary } from '../../store/records.ts'
import type { TenantStore } from '../../store/store.ts'
import { assistantMsg, carrying, titled, turnEnded, userMsg, userMsgOf } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function summariesAndRevival({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('summaries and revival', () => {
    test('revival without a summary reads the whole log', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      expect(await store.loadSince('chat')).toEqual({ summary: null, events: await store.streamEvents('chat') })
      expect(await store.latestSummary('chat')).toBe(null)
      expect(await store.latestSummary('absent')).toBe(null)
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
      for (const span of [summary(9), summary(10), { ...summary(2), fromSeq: 0 }]) {
        // What lies before a summary may be summed up later.
        const apart = span.toSeq > 2 ? { fromSeq: 4 } : {}
        await store.putSummary('chat', { ...span, ...apart })
      }
      expect(await store.latestSummary('chat')).toEqual({ ...summary(10), fromSeq: 4 })
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

    test('a summary that overlaps another without covering it is refused, and names it', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), ...Array.from({ length: 29 }, () => titled('A'))] })
      const put = (fromSeq: number, toSeq: number) => store.putSummary('chat', { ...summary(toSeq), fromSeq })
      await put(5, 10)
      for (const [from, to] of [
        [1, 5],
        [1, 9],
        [5, 9],
        [6, 8],
        [10, 12],
        [6, 20],
        [9, 11],
      ] as const) {
        const error = await refused('summary_overlap', () => put(from, to), `${from} to ${to}`)
        expect(error.message.includes('the one of 5 to 10')).toBe(true)
      }
      expect(await store.latestSummary('chat')).toEqual({ ...summary(10), fromSeq: 5 })
      // Before it, after it, in its place, and all of it.
      for (const [from, to] of [
        [1, 4],
        [11, 12],
        [6, 10],
        [5, 20],
        [1, 25],
      ] as const)
        await put(from, to)
      for (const [from, to] of [
        [1, 20],
        [1, 12],
        [13, 14],
        [25, 26],
      ] as const)
        await refused('summary_overlap', () => put(from, to), `${from} to ${to}`)
      await put(26, 30)
      expect(await store.latestSummary('chat')).toEqual({ ...summary(30), fromSeq: 26 })
    })

    testTwoStores('of summaries that come at once, none is left that overlaps another', async ({ store, other }) => {
      await store.commit('chat', { events: [userMsg(), ...Array.from({ length: 19 }, () => titled('A'))] })
      const spans = Array.from({ length: 12 }, (_, index) => ({ fromSeq: 1 + index, toSeq: 8 + index }))
      const outcomes = await Promise.all(
        spans.map((span, index) =>
          (index % 2 ? store : other).putSummary('chat', { ...summary(span.toSeq), ...span }).then(
            () => span,
            () => null,
          ),
        ),
      )
      const kept = outcomes.filter((span) => span !== null)
      for (const one of kept)
        for (const two of kept)
          expect([one, two, fitsBeside(one, two) || fitsBeside(two, one)]).toEqual([one, two, true])
      expect((await store.latestSummary('chat'))!.toSeq).toBe(Math.max(...kept.map(({ toSeq }) => toSeq)))
    })

    test('a summary of an unknown conversation or with an invalid span is refused', async ({ store }) => {
      await refused('conversation_not_found', () => store.putSummary('absent', summary(1)))
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

export function blobs({ describe, test, expect, refused }: Suite): void {
  describe('blobs', () => {
    test('bytes are read back as they were, whatever they are', async ({ store }) => {
      const samples = [
        new Uint8Array(0),
        Uint8Array.from({ length: 256 }, (_, index) => index),
        Buffer.from('text\u0000 with everything 😀'),
        new Uint8Array(3 * 1024 * 1024).fill(7),
      ]
      for (const bytes of samples) {
        const ref = await store.putBlob(bytes, 'application/x-test; a="b"')
        const blob = createHash('sha256').update(bytes).digest('hex')
        expect(ref).toEqual({ blob, mediaType: 'application/x-test; a="b"', size: bytes.byteLength })
        const found = (await store.getBlob(ref))!
        expect(found.mediaType).toBe('application/x-test; a="b"')
        expect(found.bytes instanceof Uint8Array && Buffer.compare(found.bytes, bytes)).toBe(0)
      }
    })

    test('a slice has those bytes of a blob that there are', async ({ store }) => {
      const bytes = Uint8Array.from({ length: 10 }, (_, index) => index)
      const ref = await store.putBlob(bytes, 'text/plain')
      const slice = async (from: number, length: number) => [...(await store.getBlob(ref, { from, length }))!.bytes]
      expect(await slice(0, 3)).toEqual([0, 1, 2])
      expect(await slice(3, 3)).toEqual([3, 4, 5])
      expect(await slice(8, 3)).toEqual([8, 9])
      expect(await slice(0, 1_000_000_000)).toEqual([...bytes])
      for (const from of [10, 11, 5_000_000_000]) expect(await slice(from, 3)).toEqual([])
      expect((await store.getBlob(ref, { from: 2, length: 1 }))!.mediaType).toBe('text/plain')
      const empty = await store.putBlob(new Uint8Array(0), 'text/plain')
      expect([...(await store.getBlob(empty, { from: 0, length: 1 }))!.bytes]).toEqual([])
      const unknown = { blob: 'a'.repeat(64), mediaType: 'text/plain', size: 1 }
      expect(await store.getBlob(unknown, { from: 0, length: 1 })).toBe(null)
      await refused('invalid_argument', () => store.getBlob(ref, { from: -1, length: 1 }))
      await refused('invalid_argument', () => store.getBlob(ref, { from: 0, length: 0 }))
    })

    test('only the bytes of a view are kept, and later changes do not reach them', async ({ store }) => {
      const memory = Uint8Array.from([1, 2, 3, 4, 5])
      const ref = await store.putBlob(memory.subarray(1, 4), 'text/plain')
      memory.fill(9)
      const found = (await store.getBlob(ref))!
      expect([...found.bytes]).toEqual([2, 3, 4])
      found.bytes.fill(9)
      expect([...(await store.getBlob(ref))!.bytes]).toEqual([2, 3, 4])
    })

    test('the same bytes are the same blob, also when put at once', async ({ store }) => {
      const bytes = Buffer.from('same')
      const refs = await Promise.all(Array.from({ length: 10 }, () => store.putBlob(bytes, 'text/plain')))
      expect(refs).toEqual(refs.map(() => refs[0]))
      await store.putBlob(bytes, 'text/html')
      expect((await store.getBlob(refs[0]!))!.mediaType).toBe('text/plain')
    })

    test('an unknown blob is null', async ({ store }) => {
      expect(await store.getBlob({ blob: 'a'.repeat(64), mediaType: 'text/plain', size: 1 })).toBe(null)
      await refused('invalid_argument', () => store.putBlob('text' as never, 'text/plain'))
      await refused('invalid_id', () => store.putBlob(new Uint8Array(1), ''))
    })

    test('a blob stays until an event refers to it, however long that takes', async ({ store }) => {
      const ref = await put(store, 'waiting')
      await store.appendEvent('other', userMsg())
      await store.deleteConversation('other')
      expect(await isThere(store, ref)).toBe(true)
    })

    test('a blob goes with the last conversation that refers to it', async ({ store }) => {
      const ref = await put(store, 'shared')
      for (const id of ['one', 'two']) await store.appendEvent(id, withFile(ref))
      await store.deleteConversation('one')
      expect(await isThere(store, ref)).toBe(true)
      await store.deleteConversation('two')
      expect(await isThere(store, ref)).toBe(false)
    })

    test('a conversation that refers to a blob twice releases it once', async ({ store }) => {
      const ref = await put(store, 'twice')
      await store.commit('chat', { events: [withFile(ref), withFile(ref)] })
      await store.appendEvent('chat', withFile(ref))
      await store.deleteConversation('chat')
      expect(await isThere(store, ref)).toBe(false)
    })

    test('a blob that was put again waits for its second event', async ({ store }) => {
      const ref = await put(store, 'again')
      await put(store, 'again')
      await store.appendEvent('one', withFile(ref))
      await store.deleteConversation('one')
      expect(await isThere(store, ref)).toBe(true)
      await store.appendEvent('two', withFile(ref))
      await store.deleteConversation('two')
      expect(await isThere(store, ref)).toBe(false)
    })

    test('a blob can be put again after it was removed', async ({ store }) => {
      const ref = await put(store, 'back')
      await store.appendEvent('chat', withFile(ref))
      await store.deleteConversation('chat')
      await put(store, 'back')
      expect(await isThere(store, ref)).toBe(true)
    })

    test('a ref is found wherever it is in an event', async ({ store }) => {
      const refs = await Promise.all(['one', 'two', 'three'].map((text) => put(store, text)))
      await store.commit('chat', {
        events: [userMsg(), carrying({ deep: [{ down: refs[0]! }] }), carrying([refs[1]!, 'text']), withFile(refs[2]!)],
      })
      await store.deleteConversation('chat')
      for (const ref of refs) expect(await isThere(store, ref)).toBe(false)
    })

    test('a refused commit refers to nothing', async ({ store }) => {
      const ref = await put(store, 'refused')
      await store.appendEvent('chat', userMsg())
      await store.commit('chat', { events: [withFile(ref)], expectedSeq: 9 })
      await store.deleteConversation('chat')
      expect(await isThere(store, ref)).toBe(true)
    })

    test('an event may name a blob that is not there', async ({ store }) => {
      const ref = { blob: 'b'.repeat(64), mediaType: 'text/plain', size: 3 }
      expect(await store.appendEvent('chat', withFile(ref))).toBe(1)
      expect(await store.deleteConversation('chat')).toBe(true)
    })

    test('a fork keeps the blobs of its events', async ({ store }) => {
      const ref = await put(store, 'forked')
      await store.commit('chat', { events: [withFile(ref), titled('A')] })
      await store.fork('chat', 'copy', { at: 1 })
      await store.deleteConversation('chat')
      expect(await isThere(store, ref)).toBe(true)
      await store.deleteConversation('copy')
      expect(await isThere(store, ref)).toBe(false)
    })
  })
}

function put(store: TenantStore, text: string): Promise<BlobRef> {
  return store.putBlob(Buffer.from(text), 'text/plain')
}

function withFile(ref: BlobRef) {
  return userMsgOf([{ type: 'file', mediaType: ref.mediaType, data: ref }])
}

async function isThere(store: TenantStore, ref: BlobRef): Promise<boolean> {
  return (await store.getBlob(ref)) !== null
}
