import type { NewEvent } from '../../log/events.ts'
import type { Summary } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { assistantMsg, flowStarted, observe, titled, turnEnded, userMsg } from './event-builders.ts'
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

    test('a fork past the end, from an unknown source or onto an existing id is refused and leaves nothing', async ({
      store,
    }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')] })
      await store.appendEvent('other', userMsg())
      const before = await observe(store, { ids: ['chat', 'other', 'copy'] })
      const error = await refused('invalid_argument', () => store.fork('chat', 'copy', { at: 3 }))
      expect(error.message.includes("'at'")).toBe(true)
      await refused('conversation_not_found', () => store.fork('absent', 'copy'))
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

    test('a fork copies the attributes of its source and names it as its parent', async ({ store }) => {
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

    test('after a fork, source and copy change independently', async ({ store }) => {
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

    test('a fork of a session has rows of its own for what waits at the cut, and is idle unless it has ended', async ({
      store,
    }) => {
      const asked = (position: number): NewEvent => {
        return { type: 'flow_opened', content: { position, asked: position, op: { kind: 'suspend', tag: position } } }
      }
      const answer: NewEvent = { type: 'flow_outcome', content: { position: 1, ok: true, value: 'yes' } }
      const end: NewEvent = { type: 'flow_ended', content: { status: 'failed', error: 'no' } }
      const call = (seq: number) => ({ id: `flow:flow:${seq}`, kind: 'flow' as const, round: seq, args: seq - 1 })
      await store.commit('flow', {
        events: [flowStarted(), asked(1), asked(2), answer, end],
        calls: [call(2), { ...call(3), status: 'cancelled' }],
        conversation: { kind: 'flow', agent: 'checkout', status: 'failed' },
      })
      const [, first, second] = await store.streamEvents('flow')
      const waiting = { kind: 'flow', status: 'pending', executor: 'human', name: 'suspend', prompt: null }
      const rowAt = (copy: string, seq: number, at: number) => ({
        ...waiting,
        id: `flow:${copy}:${seq}`,
        conversationId: copy,
        round: seq,
        args: seq - 1,
        createdAt: at,
        expiresAt: null,
      })
      await store.fork('flow', 'early', { at: 3 })
      expect(await store.pendingToolCalls('early')).toMatchObject([
        rowAt('early', 2, first!.at),
        rowAt('early', 3, second!.at),
      ])
      await store.fork('flow', 'later', { at: 4 })
      expect(await store.pendingToolCalls('later')).toMatchObject([rowAt('later', 3, second!.at)])
      await store.fork('flow', 'whole')
      expect(await store.pendingToolCalls('whole')).toEqual([])
      expect(await store.pendingToolCalls('flow')).toMatchObject([{ id: 'flow:flow:2' }])
      const statuses = await Promise.all(['early', 'later', 'whole'].map((id) => store.getConversation(id)))
      expect(statuses.map((record) => record!.status)).toEqual(['idle', 'idle', 'failed'])
    })
  })
}

function summary(toSeq: number): Summary {
  const base = { lastSeq: toSeq, title: null, seed: null, turns: [] }
  return { fromSeq: 1, toSeq, content: `up to ${toSeq}`, version: 1, base }
}

export function movedLogs({ describe, test, expect }: Suite): void {
  describe('logs that have moved', () => {
    const known = async (store: Store, tenant: string, id: string) => {
      const last = (await store.forTenant(tenant).streamEvents(id)).at(-1)
      return { tenant, id, seq: last?.seq ?? 0, at: last?.at ?? null, status: null }
    }

    test('are those that have grown, also of other tenants, and no others', async ({ store }) => {
      const acme = store.forTenant('acme')
      for (const handle of [store, acme]) for (const id of ['one', 'two']) await handle.appendEvent(id, userMsg())
      const places = [
        ['default', 'one'],
        ['default', 'two'],
        ['acme', 'one'],
        ['acme', 'two'],
      ] as const
      const watched = await Promise.all(places.map(([tenant, id]) => known(store, tenant, id)))
      expect(await store.movedLogs(watched)).toEqual([])
      await store.appendEvent('two', titled('A'))
      await acme.appendEvent('one', titled('A'))
      expect(await store.movedLogs(watched)).toEqual([
        { tenant: 'default', id: 'two' },
        { tenant: 'acme', id: 'one' },
      ])
    })

    test('are new logs, logs that are shorter than known, and deleted ones', async ({ store }) => {
      const none = { tenant: 'default', id: 'none', seq: 0, at: null, status: null }
      expect(await store.movedLogs([none])).toEqual([])
      await store.appendEvent('gone', userMsg())
      const gone = await known(store, 'default', 'gone')
      expect(await store.movedLogs([{ ...gone, seq: 2 }])).toEqual([{ tenant: 'default', id: 'gone' }])
      await store.deleteConversation('gone')
      await store.appendEvent('none', userMsg())
      expect(await store.movedLogs([none, gone])).toEqual([
        { tenant: 'default', id: 'none' },
        { tenant: 'default', id: 'gone' },
      ])
    })

    test('are those that were deleted and created again, though they are as long', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const before = await known(store, 'default', 'chat')
      await store.deleteConversation('chat')
      await store.appendEvent('chat', userMsg())
      expect(await store.movedLogs([before, { ...before, at: null }])).toEqual([{ tenant: 'default', id: 'chat' }])
    })

    test('are those whose status has changed, for watchers that gave one', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const active = { ...(await known(store, 'default', 'chat')), status: 'active' as const }
      const missing = { tenant: 'default', id: 'none', seq: 0, at: null, status: 'active' as const }
      expect(await store.movedLogs([active])).toEqual([])
      await store.putFsmState('chat', { state: 'awaiting_input', pending: [], lastSeq: 1 })
      expect(await store.movedLogs([active, { ...active, status: null }, missing])).toEqual([
        { tenant: 'default', id: 'chat' },
        { tenant: 'default', id: 'none' },
      ])
    })

    test('are those that are quarantined, for watchers that gave a status', async ({ store, pass }) => {
      await store.appendEvent('poison', userMsg())
      const active = { ...(await known(store, 'default', 'poison')), status: 'active' as const }
      for (let lapses = 0; lapses < 5; lapses++) {
        await store.claimLease('poison', `holder-${lapses}`, 10)
        await pass(20)
      }
      expect(await store.movedLogs([active])).toEqual([])
      expect(await store.claimLease('poison', 'six', 60_000)).toEqual({ type: 'quarantined' })
      expect(await store.movedLogs([active, { ...active, status: null }])).toEqual([
        { tenant: 'default', id: 'poison' },
      ])
      expect(await store.movedLogs([{ ...active, status: null }])).toEqual([])
      await store.unquarantine('poison')
      expect(await store.movedLogs([active])).toEqual([])
    })

    test('are found among thousands, whatever their ids', async ({ store }) => {
      const odd = ['a"b', "it's", 'ünïcödé 🦊', '{a,b}', 'a\\b', 'NULL']
      for (const id of odd) await store.appendEvent(id, userMsg())
      const known = odd.map((id) => ({ tenant: 'default', id, seq: 0, at: null, status: null }))
      const others = (from: number) =>
        Array.from({ length: 1_500 }, (_, n) => ({ tenant: 'x', id: `${from + n}`, seq: 0, at: null, status: null }))
      const moved = await store.movedLogs([...others(0), ...known, ...others(1_500)])
      expect(moved.map(({ id }) => id)).toEqual(odd)
    })
  })
}
