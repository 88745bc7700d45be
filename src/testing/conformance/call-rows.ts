import { callEnd } from '../../log/call-phase.ts'
import type { LogEvent } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { findCall } from '../../log/state.ts'
import { finalStatuses } from '../../store/prepare-change.ts'
import type { Store } from '../../store/store.ts'
import { observe, resolution, suspendCalls, suspension, titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function callRows({ describe, test, expect, refused }: Suite): void {
  describe('call rows', () => {
    test('a new call is pending, in its first round, and empty otherwise', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call' })
      const { createdAt, ...rest } = (await store.getToolCall('call'))!
      expect(rest).toEqual({
        id: 'call',
        conversationId: 'chat',
        name: '',
        executor: 'server',
        status: 'pending',
        args: null,
        result: null,
        round: 1,
        kind: 'approval',
        prompt: null,
        expiresAt: null,
        resolvedAt: null,
        notice: null,
        meta: null,
      })
      expect(createdAt).toBe((await store.getConversation('chat'))!.createdAt)
    })

    test('the members of an upsert are read back', async ({ store }) => {
      const call = {
        id: 'call',
        name: 'refund',
        executor: 'client',
        args: { cents: 100 },
        round: 3,
        kind: 'client_exec',
        prompt: ['Pay', 'back?'],
        notice: { description: 'Pay 1.00 EUR back', doneBefore: { callId: 'before', outcome: 'done' } },
      } as const
      await store.upsertToolCall('chat', { ...call, expiresInMs: 90_000 })
      const row = (await store.getToolCall('call'))!
      expect(row).toMatchObject(call)
      expect(Math.abs(row.expiresAt! - row.createdAt - 90_000)).toBeLessThan(1_000)
    })

    test('an upsert replaces everything but the time of creation and the meta', async ({ store, pass }) => {
      await store.upsertToolCall('chat', {
        id: 'call',
        name: 'refund',
        executor: 'human',
        args: { cents: 100 },
        kind: 'elicitation',
        prompt: 'How much?',
        expiresInMs: 90_000,
        notice: { description: 'Asks how much' },
        meta: { ticket: 7 },
      })
      const before = (await store.getToolCall('call'))!
      await pass(5)
      await store.upsertToolCall('chat', { id: 'call', round: 2 })
      expect(await store.getToolCall('call')).toEqual({
        ...before,
        name: '',
        executor: 'server',
        args: null,
        kind: 'approval',
        prompt: null,
        notice: null,
        expiresAt: null,
        round: 2,
      })
    })

    for (const status of finalStatuses) {
      test(`a call that is written as ${status} has ended and is not pending`, async ({ store }) => {
        await store.upsertToolCall('chat', { id: 'call', status, result: 'done', expiresInMs: 60_000 })
        const row = (await store.getToolCall('call'))!
        expect(row).toMatchObject({ status, result: 'done', expiresAt: null })
        expect(row.resolvedAt).toBe(row.createdAt)
        expect(await store.pendingToolCalls('chat')).toEqual([])
        expect(await store.resolveToolCall('call', 'resolved', null)).toBe('stale')
      })
    }

    test('an ended call that is written as pending waits again', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call' })
      await store.resolveToolCall('call', 'resolved', 'first')
      await store.upsertToolCall('chat', { id: 'call', round: 2 })
      expect(await store.getToolCall('call')).toMatchObject({
        status: 'pending',
        result: null,
        round: 2,
        resolvedAt: null,
      })
      expect(await store.resolveToolCall('call', 'resolved', 'second')).toBe('ok')
    })

    test('an unknown call is null', async ({ store }) => {
      expect(await store.getToolCall('nothing')).toBe(null)
      expect(await store.pendingToolCalls('absent')).toEqual([])
    })

    test('the pending calls of a conversation come oldest first', async ({ store, pass }) => {
      for (const id of ['third', 'first', 'second']) {
        await store.upsertToolCall('chat', { id })
        await pass(3)
      }
      await store.upsertToolCall('chat', { id: 'third', name: 'changed' })
      await store.upsertToolCall('other', { id: 'elsewhere' })
      await store.resolveToolCall('first', 'denied', null)
      const pending = await store.pendingToolCalls('chat')
      expect(pending.map((call) => call.id)).toEqual(['third', 'second'])
      expect(pending[0]).toEqual(await store.getToolCall('third'))
      const names = pending.map(({ id, round, kind }) => ({ id, round, kind }))
      expect(await store.pendingCallNames('chat')).toEqual(names)
    })

    test('pending calls of one moment come in the order of the bytes of their ids', async ({ store }) => {
      const ids = ['b', 'a', 'B', 'é', '～', '😀', 'a0']
      await suspendCalls(store, 'chat', ids)
      const pending = await store.pendingToolCalls('chat')
      expect(pending.map((call) => call.id)).toEqual(['B', 'a', 'a0', 'b', 'é', '～', '😀'])
    })

    test('the call of another conversation cannot be taken over', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', name: 'mine' })
      const error = await refused('invalid_argument', () =>
        store.upsertToolCall('other', { id: 'call', name: 'theirs' }),
      )
      expect(error.message.includes("'call'")).toBe(true)
      expect(await store.getToolCall('call')).toMatchObject({ conversationId: 'chat', name: 'mine' })
      expect(await store.getConversation('other')).toBe(null)
    })

    test('a commit writes its rows with its events, with deadlines by the clock of the store', async ({ store }) => {
      await store.commit('chat', {
        events: [userMsg(), suspension('one'), suspension('two')],
        calls: [{ id: 'one', expiresInMs: 90_000 }, { id: 'two' }],
      })
      const [one, two] = await store.pendingToolCalls('chat')
      expect(Math.abs(one!.expiresAt! - one!.createdAt - 90_000)).toBeLessThan(1_000)
      expect(two).toMatchObject({ id: 'two', expiresAt: null })
      expect((await store.getConversation('chat'))!.lastSeq).toBe(3)
    })

    test('a commit that ends one round and opens the next leaves the call pending', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: 60_000 })
      const result = await store.commit('chat', {
        events: [resolution('call'), suspension('call', { round: 2, kind: 'client_exec' })],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
        calls: [{ id: 'call', round: 2, kind: 'client_exec' }],
      })
      expect(result).toMatchObject({ ok: true, seq: 6 })
      expect(await store.getToolCall('call')).toMatchObject({
        status: 'pending',
        round: 2,
        kind: 'client_exec',
        result: null,
        resolvedAt: null,
        expiresAt: null,
      })
    })

    test('a change that names a call twice is refused', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const answer = { callId: 'call', round: 1, status: 'resolved', result: true } as const
      await refused('invalid_argument', () =>
        store.commit('chat', { events: [resolution('call')], resolve: [answer, answer] }),
      )
      await refused('invalid_argument', () =>
        store.commit('chat', { events: [], calls: [{ id: 'two' }, { id: 'two', name: 'again' }] }),
      )
      expect((await store.pendingToolCalls('chat')).map((call) => call.id)).toEqual(['call'])
      expect((await store.getConversation('chat'))!.lastSeq).toBe(4)
    })
  })
}

export function resolveOnce({ describe, test, testTwoStores, expect, refused }: Suite): void {
  describe('resolving once', () => {
    test('an answer ends the row and appends its resolution', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { kind: 'elicitation' })
      expect(await store.resolveToolCall('call', 'resolved', { cents: 50 })).toBe('ok')
      const row = (await store.getToolCall('call'))!
      const event = (await store.streamEvents('chat')).at(-1)!
      expect(row).toMatchObject({ status: 'resolved', result: { cents: 50 }, round: 1, kind: 'elicitation' })
      const { at, ...rest } = event
      expect(rest).toEqual({
        conversationId: 'chat',
        seq: 5,
        type: 'resolution',
        content: {
          callId: 'call',
          round: 1,
          kind: 'elicitation',
          status: 'resolved',
          value: { cents: 50 },
          who: 'system',
        },
      })
      expect(row.resolvedAt).toBe(at)
      expect(await store.pendingToolCalls('chat')).toEqual([])
    })

    for (const status of finalStatuses) {
      test(`a call can be ended as ${status}`, async ({ store }) => {
        await suspendCalls(store, 'chat', ['call'])
        expect(await store.resolveToolCall('call', status, null)).toBe('ok')
        expect(await store.getToolCall('call')).toMatchObject({ status, result: null })
        const event = (await store.streamEvents('chat')).at(-1)!
        // The log has no status for an error: an approval that ends with one was not granted.
        expect(event.content).toMatchObject({ status: status === 'errored' ? 'denied' : status })
      })
    }

    for (const kind of ['approval', 'elicitation', 'client_exec', 'sub_agent', 'recovery'] as const) {
      test(`a call that waits for ${kind} and is ended as errored reads as an error, with the reason`, async ({
        store,
      }) => {
        await suspendCalls(store, 'chat', ['call'], { kind })
        expect(await store.resolveToolCall('call', 'errored', 'the bank is closed', { who: 'ann' })).toBe('ok')
        expect(await store.getToolCall('call')).toMatchObject({ status: 'errored', result: 'the bank is closed' })
        const events = await store.streamEvents('chat')
        const end = callEnd(findCall(foldEvents(events), 'call')!.call)
        expect(end?.ok === false && end.error.endsWith('the bank is closed')).toBe(true)
        const resolutions = events.filter(({ type }) => type === 'resolution')
        expect(resolutions.map(({ content }) => content)).toMatchObject([
          { callId: 'call', round: 1, kind, who: 'ann' },
        ])
        const lost = await store.commit('chat', {
          events: [resolution('call')],
          resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
        })
        expect(lost).toEqual({ ok: false, conflict: 'stale', lastSeq: events.length, winner: resolutions[0] })
      })
    }

    test('a commit whose row and event disagree about the end is refused', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [status, logged] of [
        ['errored', 'resolved'],
        ['denied', 'resolved'],
        ['resolved', 'denied'],
        ['cancelled', 'expired'],
      ] as const) {
        const events = [resolution('call', { status: logged })]
        const change = { events, resolve: [{ callId: 'call', round: 1, status, result: null }] }
        await refused('invalid_argument', () => store.commit('chat', change), `${status} beside ${logged}`)
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('a second answer is stale and changes nothing', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.resolveToolCall('call', 'denied', 'no')
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const status of finalStatuses) expect(await store.resolveToolCall('call', status, 'yes')).toBe('stale')
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('an answer to an unknown call is stale', async ({ store }) => {
      expect(await store.resolveToolCall('nothing', 'resolved', null)).toBe('stale')
    })

    test('the loser of a commit learns which resolution won', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const won = await store.commit('chat', {
        events: [titled('before'), resolution('call', { who: 'ann' }), titled('after')],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
      })
      expect(won).toMatchObject({ ok: true, seq: 7 })
      const winner = (await store.streamEvents('chat', { after: 5, before: 7 }))[0]!
      expect(winner.type).toBe('resolution')
      const lost = await store.commit('chat', {
        events: [resolution('call', { who: 'bob', status: 'denied', value: null })],
        resolve: [{ callId: 'call', round: 1, status: 'denied', result: null }],
      })
      expect(lost).toEqual({ ok: false, conflict: 'stale', lastSeq: 7, winner })
      expect(await store.getToolCall('call')).toMatchObject({ status: 'resolved', result: true })
      expect((await store.streamEvents('chat')).length).toBe(7)
    })

    test('a commit is accepted with all its answers or with none', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one', 'two', 'three'])
      await store.resolveToolCall('two', 'denied', null)
      const ids = ['one', 'two', 'three']
      const result = await store.commit('chat', {
        events: ids.map((callId) => resolution(callId)),
        resolve: ids.map((callId) => ({ callId, round: 1, status: 'resolved', result: true })),
      })
      expect(result).toMatchObject({ ok: false, conflict: 'stale', winner: { content: { callId: 'two' } } })
      expect((await store.pendingToolCalls('chat')).map((call) => call.id)).toEqual(['one', 'three'])
      const rest = await store.commit('chat', {
        events: [resolution('one'), resolution('three')],
        resolve: ['one', 'three'].map((callId) => ({ callId, round: 1, status: 'resolved', result: callId })),
      })
      expect(rest).toMatchObject({ ok: true, seq: 11 })
      for (const callId of ['one', 'three']) expect((await store.getToolCall(callId))!.result).toBe(callId)
    })

    test('the call of another conversation is stale, and its state stays hidden', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await suspendCalls(store, 'other', ['ended', 'pending'])
      await store.resolveToolCall('ended', 'resolved', 'secret')
      for (const callId of ['ended', 'pending', 'nothing']) {
        const resolve = [{ callId, round: 1, status: 'resolved', result: true }] as const
        expect(await store.commit('chat', { events: [resolution(callId)], resolve })).toEqual({
          ok: false,
          conflict: 'stale',
          lastSeq: 4,
        })
      }
      expect((await store.pendingToolCalls('other')).map((call) => call.id)).toEqual(['pending'])
    })

    test('a row can be ended by a commit that brings no event for it', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const change = { events: [], resolve: [{ callId: 'call', round: 1, status: 'cancelled', result: null }] } as const
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 4 })
      expect((await store.getToolCall('call'))!.status).toBe('cancelled')
      expect(await store.commit('chat', change)).toEqual({ ok: false, conflict: 'stale', lastSeq: 4 })
    })

    test('of forty resolvers at once one wins, and the others learn its answer', async ({ store }) => {
      await oneOfForty([store])
    })

    testTwoStores('of forty resolvers through two stores one wins', async ({ store, other }) => {
      await oneOfForty([store, other])
    })
  })

  async function oneOfForty(stores: readonly Store[]): Promise<void> {
    const store = stores[0]!
    await suspendCalls(store, 'chat', ['call'])
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index): Promise<'ok' | 'stale' | LogEvent> => {
        const through = stores[index % stores.length]!
        if (index % 4 === 0) return through.resolveToolCall('call', 'resolved', index)
        const result = await through.commit('chat', {
          events: [resolution('call', { value: index })],
          resolve: [{ callId: 'call', round: 1, status: 'resolved', result: index }],
        })
        return result.ok ? 'ok' : result.winner!
      }),
    )
    const winner = answers.indexOf('ok')
    expect(answers.filter((answer) => answer === 'ok').length).toBe(1)
    const events = await store.streamEvents('chat', { after: 4 })
    expect(events.map((event) => event.content)).toMatchObject([{ callId: 'call', value: winner }])
    expect((await store.getToolCall('call'))!.result).toBe(winner)
    const told = answers.filter((answer) => typeof answer !== 'string')
    expect(told).toEqual(told.map(() => events[0]))
  }
}
