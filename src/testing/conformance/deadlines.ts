import type { Change } from '../../store/change.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { deadlineMoved, observe, resolution, suspendCalls, suspension, titled } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

/** What a driver must do about `deadline_moved`: event and row in one commit, only while that round waits. */
export function deadlines({ describe, test, testTwoStores, testLeaping, expect, refused }: Suite): void {
  describe('moved deadlines', () => {
    test('a deadline is moved by an event: its time plus its expiresInMs', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: minute })
      await store.scheduleExpiry('chat', 'call', 5 * minute)
      await store.scheduleExpiry('chat', 'call', 7 * minute, { who: 'ann' })
      const [first, second] = await store.streamEvents('chat', { after: 4 })
      expect(first).toMatchObject({ seq: 5, ...deadlineMoved('call', 5 * minute, { who: 'system' }) })
      expect(second).toMatchObject({ seq: 6, ...deadlineMoved('call', 7 * minute) })
      const row = { status: 'pending', round: 1, expiresAt: second!.at + 7 * minute }
      expect(await store.getToolCall('call')).toMatchObject(row)
      expect((await store.pendingInbox())[0]).toMatchObject(row)
    })

    test('a deadline is taken away by an event, once', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: minute })
      await store.cancelExpiry('chat', 'call', { who: 'ann' })
      await store.cancelExpiry('chat', 'call')
      const events = await store.streamEvents('chat', { after: 4 })
      expect(events.map(({ type, content }) => ({ type, content }))).toEqual([deadlineMoved('call', null)])
      expect((await store.getToolCall('call'))!.expiresAt).toBe(null)
    })

    test('a commit with the event moves the row, beside other events', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const events = [titled('A'), deadlineMoved('call', minute)]
      expect(await store.commit('chat', { events, key: 'once' })).toMatchObject({ ok: true, seq: 6 })
      const { at } = (await store.streamEvents('chat', { after: 5 }))[0]!
      expect((await store.getToolCall('call'))!.expiresAt).toBe(at + minute)
      await store.scheduleExpiry('chat', 'call', 5 * minute)
      const before = await store.getToolCall('call')
      expect(await store.commit('chat', { events, key: 'once' })).toMatchObject({ ok: true, seq: 6 })
      expect(await store.getToolCall('call')).toEqual(before)
      expect(await store.appendEvent('chat', deadlineMoved('call', minute))).toBe(8)
    })

    test('a call that is unknown, elsewhere or over is left alone', async ({ store }) => {
      await suspendCalls(store, 'chat', ['over'], { expiresInMs: minute })
      await suspendCalls(store, 'other', ['elsewhere'], { expiresInMs: minute })
      await suspendCalls(store.forTenant('acme'), 'chat', ['theirs'], { expiresInMs: minute })
      await store.resolveToolCall('over', 'resolved', true)
      const observed = { ids: ['chat', 'other', 'absent'], callIds: ['over', 'elsewhere'] }
      const before = await observe(store, observed)
      for (const callId of ['nothing', 'elsewhere', 'over', 'theirs']) {
        await store.scheduleExpiry('chat', callId, 10)
        await store.cancelExpiry('chat', callId)
      }
      await store.scheduleExpiry('absent', 'over', 10)
      expect(await observe(store, observed)).toEqual(before)
    })

    test('an event for a round that does not wait is stale, and names the answer it lost to', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await suspendCalls(store, 'other', ['elsewhere'])
      const move = (callId: string, round = 1) =>
        store.commit('chat', { events: [titled('A'), deadlineMoved(callId, minute, { round })] })
      const before = await observe(store, { ids: ['chat', 'other'], callIds: ['call', 'elsewhere'] })
      expect(await move('call', 2)).toEqual({ ok: false, conflict: 'stale', lastSeq: 4 })
      expect(await move('elsewhere')).toEqual({ ok: false, conflict: 'stale', lastSeq: 4 })
      expect(await move('nothing')).toEqual({ ok: false, conflict: 'stale', lastSeq: 4 })
      await refused('invalid_argument', () => store.appendEvent('chat', deadlineMoved('nothing', minute)))
      const absent = await store.commit('absent', { events: [deadlineMoved('call', minute)] })
      expect(absent).toEqual({ ok: false, conflict: 'stale', lastSeq: 0 })
      expect(await observe(store, { ids: ['chat', 'other'], callIds: ['call', 'elsewhere'] })).toEqual(before)
      await store.resolveToolCall('call', 'resolved', true, { who: 'bob' })
      expect(await move('call')).toMatchObject({ conflict: 'stale', lastSeq: 5, winner: { content: { who: 'bob' } } })
    })

    test('a moved deadline belongs to its round', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: minute })
      await store.scheduleExpiry('chat', 'call', 5 * minute)
      const { epoch } = (await store.acquireLease('chat', 'owner', minute))!
      await store.commit('chat', {
        epoch,
        events: [resolution('call'), suspension('call', { round: 2 })],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
        calls: [{ id: 'call', round: 2 }],
      })
      expect(await store.getToolCall('call')).toMatchObject({ round: 2, expiresAt: null })
      await store.scheduleExpiry('chat', 'call', minute)
      const last = (await store.streamEvents('chat')).at(-1)!
      expect(last.content).toMatchObject({ callId: 'call', round: 2, expiresInMs: minute })
    })

    test('a call that waits for a child agent has no deadline to move', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { kind: 'sub_agent' })
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      await refused('invalid_argument', () => store.scheduleExpiry('chat', 'call', minute))
      await refused('invalid_argument', () => store.commit('chat', { events: [deadlineMoved('call', minute)] }))
      await refused('invalid_argument', () => store.appendEvent('chat', deadlineMoved('call', null)))
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('a change moves one deadline, and writes and ends no call beside it', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one', 'two'])
      const move = deadlineMoved('one', minute)
      const before = await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })
      for (const change of [
        { events: [move, deadlineMoved('two', minute)] },
        { events: [move], calls: [{ id: 'three' }] },
        {
          events: [move, resolution('two')],
          resolve: [{ callId: 'two', round: 1, status: 'resolved', result: true }] as const,
        },
        { events: [deadlineMoved('one', 3_155_760_000_001)] },
      ] satisfies Change[]) {
        await refused('invalid_argument', () => store.commit('chat', change))
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['one', 'two'] })).toEqual(before)
    })

    test('a moved deadline neither wakes nor needs a lease, and a fork stays dormant', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      await store.acquireLease('chat', 'owner', minute)
      await store.scheduleExpiry('chat', 'call', minute)
      const [copied] = await store.pendingToolCalls('copy')
      await store.scheduleExpiry('copy', copied!.id, minute)
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      for (const id of ['chat', 'copy']) expect((await store.getConversation(id))!.status).toBe('suspended')
    })

    test('a fork has the deadline of the events it copies', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: minute })
      await store.scheduleExpiry('chat', 'call', 5 * minute)
      await store.cancelExpiry('chat', 'call')
      const [asked, moved] = await store.streamEvents('chat', { after: 3 })
      const deadlineAt = async (at: number) => {
        await store.fork('chat', `copy ${at}`, { at })
        const [row] = await store.pendingToolCalls(`copy ${at}`)
        const named = (await store.streamEvents(`copy ${at}`)).filter(({ type }) => type === 'deadline_moved')
        for (const { content } of named) expect((content as { callId: string }).callId).toBe(row!.id)
        return row!.expiresAt
      }
      expect(await deadlineAt(4)).toBe(asked!.at + minute)
      expect(await deadlineAt(5)).toBe(moved!.at + 5 * minute)
      expect(await deadlineAt(6)).toBe(null)
    })

    test('a row that no event tells of comes along to a fork, also when its deadline was moved', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', name: 'refund' })
      await store.scheduleExpiry('chat', 'call', minute)
      await store.fork('chat', 'copy')
      const [row] = await store.pendingToolCalls('copy')
      expect(row).toMatchObject({ name: 'refund', expiresAt: (await store.getToolCall('call'))!.expiresAt })
    })

    testLeaping('a deadline that was moved closer fires at its time', async ({ store, leap }) => {
      // The first look at deadlines is over.
      await leap(1)
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: 60 * minute })
      await store.scheduleExpiry('chat', 'call', 100)
      await leap(99)
      expect((await store.getToolCall('call'))!.status).toBe('pending')
      await leap(1)
      expect((await store.getToolCall('call'))!.status).toBe('expired')
    })

    test('a deadline that moves while it passes is moved or has passed, never both', async (bench) => {
      await race(bench.store, bench.store, bench.pass, bench.eventually)
    })

    testTwoStores(
      'a deadline that moves through one store while it passes in the other does not do both',
      async (bench) => {
        await race(bench.store, bench.other, bench.pass, bench.eventually)
      },
    )
  })

  /** Half of the calls get a later deadline around the time they expire; then each has either that, or its expiry. */
  async function race(
    store: Store,
    other: Store,
    pass: (ms: number) => Promise<void>,
    eventually: (what: string, check: () => Promise<boolean>) => Promise<boolean>,
  ): Promise<void> {
    const ids = Array.from({ length: 40 }, (_, index) => `call-${index}`)
    await suspendCalls(store, 'chat', ids, { expiresInMs: 30 })
    await Promise.all(
      ids.map(async (id, index) => {
        await pass(10 + index)
        await other.scheduleExpiry('chat', id, minute)
      }),
    )
    await eventually('the others expire', () => allAreSettled(store))
    const events = await store.streamEvents('chat')
    for (const id of ids) {
      const ends = events.filter(({ type, content }) => type === 'resolution' && nameIn(content) === id)
      const moves = events.filter(({ type, content }) => type === 'deadline_moved' && nameIn(content) === id)
      expect([id, ends.length + moves.length]).toEqual([id, 1])
      const { status, expiresAt } = (await store.getToolCall(id))!
      expect([id, status]).toEqual([id, moves.length === 1 ? 'pending' : 'expired'])
      if (moves[0]) expect(expiresAt).toBe(moves[0].at + minute)
    }
  }
}

async function allAreSettled(store: TenantStore): Promise<boolean> {
  const waiting = await store.pendingToolCalls('chat')
  return waiting.every((row) => row.expiresAt! - row.createdAt >= minute)
}

function nameIn(content: object): string {
  return (content as { readonly callId: string }).callId
}
