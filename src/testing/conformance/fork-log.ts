import type { Summary } from '../../store/summary.ts'
import { assistantMsg, flowStarted, titled, turnEnded, userMsg } from './event-builders.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'

export function forkLog({ describe, test, expect, refused }: Suite): void {
  describe('forks', () => {
    test('a fork has the events of its source, with their times, under its own id', async ({ store, pass }) => {
      for (const event of [userMsg(), assistantMsg(), turnEnded()]) {
        await store.appendEvent('chat', event)
        await pass(3)
      }
      await store.fork('chat', 'copy')
      const source = await store.streamEvents('chat')
      expect(await store.streamEvents('copy')).toEqual(source.map((event) => ({ ...event, conversationId: 'copy' })))
    })

    test('the bound is inclusive, and a fork at 0 is empty', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A'), titled('B')] })
      for (const at of [0, 1, 2, 3]) {
        await store.fork('chat', `copy-${at}`, { at })
        expect((await store.streamEvents(`copy-${at}`)).map((event) => event.seq)).toEqual([1, 2, 3].slice(0, at))
        expect(await store.getConversation(`copy-${at}`)).toMatchObject({ lastSeq: at, parent: { id: 'chat', at } })
      }
    })

    test('a fork past the end, from nowhere or onto something is refused and leaves nothing', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      await store.appendEvent('other', userMsg())
      const before = await observe(store, { ids: ['chat', 'other', 'copy'] })
      const error = await refused('invalid_argument', () => store.fork('chat', 'copy', { at: 3 }))
      expect(error.message.includes("'at'")).toBe(true)
      await refused('conversation_not_found', () => store.fork('nobody', 'copy'))
      await refused('conversation_exists', () => store.fork('chat', 'other'))
      await refused('conversation_exists', () => store.fork('chat', 'chat'))
      await refused('conversation_exists', () => store.fork('chat', 'other', { at: 0 }))
      expect(await observe(store, { ids: ['chat', 'other', 'copy'] })).toEqual(before)
    })

    test('a fork may be given to another agent', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      await store.fork('chat', 'copy', { agent: 'sales' })
      expect(await store.getConversation('copy')).toMatchObject({ agent: 'sales', parent: { id: 'chat', at: 1 } })
      expect(await store.getConversation('chat')).toMatchObject({ agent: 'support' })
      await refused('invalid_id', () => store.fork('chat', 'copy-2', { agent: '' }))
      expect(await store.getConversation('copy-2')).toBe(null)
    })

    test('of ten forks to one id at once one is made', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      const results = await Promise.allSettled(Array.from({ length: 10 }, () => store.fork('chat', 'copy')))
      const codes = results.map((result) =>
        result.status === 'fulfilled' ? 'ok' : (result.reason as { code: string }).code,
      )
      expect(codes.sort()).toEqual([...Array.from({ length: 9 }, () => 'conversation_exists'), 'ok'])
      expect((await store.streamEvents('copy')).length).toBe(2)
    })

    test('a fork takes along what its conversation was told, and says where it came from', async ({ store }) => {
      await store.commit('chat', {
        events: [userMsg(), assistantMsg(), turnEnded()],
        conversation: { agent: 'support', settings: { colour: 'red' }, title: 'A title' },
      })
      await store.fork('chat', 'copy', { at: 2 })
      expect(await store.getConversation('copy')).toMatchObject({
        id: 'copy',
        kind: 'conversation',
        agent: 'support',
        settings: { colour: 'red' },
        title: 'A title',
        parent: { id: 'chat', at: 2 },
        lastSeq: 2,
      })
    })

    test('the cached state of a fork is that of its own log', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), assistantMsg(), turnEnded()] })
      await store.fork('chat', 'ended')
      await store.fork('chat', 'open', { at: 1 })
      expect(await store.getConversation('ended')).toMatchObject({
        status: 'idle',
        fsmState: { state: 'idle', lastSeq: 3 },
      })
      expect(await store.getConversation('open')).toMatchObject({
        status: 'active',
        fsmState: { state: 'running', lastSeq: 1 },
      })
    })

    test('after the fork each goes its own way', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.fork('chat', 'copy')
      expect(await store.appendEvent('chat', titled('source'))).toBe(2)
      expect(await store.appendEvent('copy', titled('copy'))).toBe(2)
      await store.putConversation('copy', { settings: { only: 'here' } })
      expect((await store.streamEvents('chat'))[1]!.content).toEqual({ title: 'source' })
      expect((await store.streamEvents('copy'))[1]!.content).toEqual({ title: 'copy' })
      expect((await store.getConversation('chat'))!.settings).toEqual({})
      await store.deleteConversation('chat')
      expect((await store.streamEvents('copy')).length).toBe(2)
    })

    test('a fork of a fork names the fork', async ({ store }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      await store.fork('chat', 'copy')
      await store.fork('copy', 'copy of copy', { at: 1 })
      expect((await store.getConversation('copy of copy'))!.parent).toEqual({ id: 'copy', at: 1 })
      expect((await store.streamEvents('copy of copy')).length).toBe(1)
    })

    test('summaries that end by then come along, later ones do not', async ({ store }) => {
      const events = [userMsg(), turnEnded(), userMsg('b', 'turn-2'), turnEnded('turn-2'), userMsg('c', 'turn-3')]
      await store.commit('chat', { events })
      for (const toSeq of [2, 4, 5]) await store.putSummary('chat', summary(toSeq))
      await store.fork('chat', 'copy', { at: 4 })
      expect(await store.loadSince('copy')).toEqual({ summary: summary(4), events: [] })
      await store.fork('copy', 'earlier', { at: 3 })
      expect((await store.loadSince('earlier')).summary).toEqual(summary(2))
      expect((await store.loadSince('earlier')).events.map((event) => event.seq)).toEqual([3])
      await store.fork('chat', 'none', { at: 1 })
      expect((await store.loadSince('none')).summary).toBe(null)
    })

    test('keys, lease, audit and snapshot stay with the source', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], key: 'once', digest: 'first' })
      const { epoch } = (await store.acquireLease('chat', 'one', 60_000))!
      await store.putModelCall('chat', { turnRef: 'turn-1' })
      await store.putSnapshot('chat', { state: 1 })
      await store.fork('chat', 'copy')
      expect(await store.commit('copy', { events: [], epoch })).toEqual({ ok: false, conflict: 'epoch', lastSeq: 1 })
      expect((await store.acquireLease('copy', 'two', 60_000)) === null).toBe(false)
      expect(await store.modelCalls('copy')).toEqual([])
      expect(await store.getSnapshot('copy')).toBe(null)
      const reused = await store.commit('copy', { events: [titled('A')], key: 'once', digest: 'second' })
      expect(reused).toMatchObject({ ok: true, seq: 2 })
    })

    test('a fork of a flow is a flow', async ({ store }) => {
      await store.commit('flow', {
        events: [flowStarted()],
        conversation: { kind: 'flow', agent: 'checkout' },
      })
      await store.fork('flow', 'copy')
      expect(await store.getConversation('copy')).toMatchObject({ kind: 'flow', agent: 'checkout', lastSeq: 1 })
    })
  })
}

function summary(toSeq: number): Summary {
  const base = { lastSeq: toSeq, title: null, seed: null, turns: [] }
  return { fromSeq: 1, toSeq, content: `up to ${toSeq}`, version: 1, base }
}
