import type { Store, TenantStore } from '../../store/store.ts'
import {
  assistantMsg,
  resolution,
  suspendCalls,
  suspension,
  titled,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
} from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

export function forkCalls({ describe, test, expect }: Suite): void {
  describe('calls in a fork', () => {
    test('an open call has a fresh id, the same in all its events and in its row', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one', 'two'])
      await store.fork('chat', 'copy')
      const rows = await store.pendingToolCalls('copy')
      const events = await store.streamEvents('copy')
      const ids = rows.map((row) => row.id)
      expect(new Set([...ids, 'one', 'two']).size).toBe(4)
      const named = (type: string) =>
        events.filter((event) => event.type === type).map((event) => (event.content as { callId: string }).callId)
      const parts = (events[1]!.content as unknown as { parts: { callId: string }[] }).parts.map((part) => part.callId)
      expect(named('tool_call')).toEqual(parts)
      expect(named('suspension')).toEqual(parts)
      expect([...ids].sort()).toEqual([...parts].sort())
      expect(JSON.stringify(events).includes('"one"')).toBe(false)
      const source = (await store.getToolCall('one'))!
      expect(await store.getToolCall(parts[0]!)).toEqual({ ...source, id: parts[0], conversationId: 'copy' })
    })

    test('an answer in the source leaves the fork waiting, and the other way round', async ({ store }) => {
      await suspendCalls(store, 'chat', ['one', 'two'])
      await store.fork('chat', 'copy')
      const [one] = await idsInLog(store, 'copy')
      await store.resolveToolCall('two', 'resolved', 'source')
      await store.resolveToolCall(one!, 'denied', 'copy')
      expect((await store.pendingToolCalls('chat')).map((call) => call.id)).toEqual(['one'])
      expect((await store.pendingToolCalls('copy')).length).toBe(1)
      expect((await store.streamEvents('chat')).length).toBe(7)
      expect((await store.streamEvents('copy')).length).toBe(7)
    })

    test('a call that has ended keeps its id and is not open again', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.commit('chat', {
        events: [resolution('call'), toolStarted('call'), toolResult('call')],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
      })
      await store.fork('chat', 'copy')
      expect(await idsInLog(store, 'copy')).toEqual(['call'])
      expect(await store.pendingToolCalls('copy')).toEqual([])
      expect((await store.getToolCall('call'))!.conversationId).toBe('chat')
      expect((await store.streamEvents('copy')).length).toBe(7)
    })

    test('a call that was answered after the fork is open in it', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: minute })
      await store.resolveToolCall('call', 'resolved', true)
      await store.appendEvent('chat', turnEnded())
      await store.fork('chat', 'copy', { at: 4 })
      const [row] = await store.pendingToolCalls('copy')
      const [id] = await idsInLog(store, 'copy')
      const [, , , suspended] = await store.streamEvents('chat')
      expect(row).toMatchObject({
        id,
        conversationId: 'copy',
        name: 'refund',
        executor: 'server',
        status: 'pending',
        args: { cents: 100 },
        result: null,
        round: 1,
        kind: 'approval',
        prompt: 'Pay back?',
        expiresAt: suspended!.at + minute,
        resolvedAt: null,
      })
      expect(await store.resolveToolCall(id!, 'denied', null)).toBe('ok')
      expect((await store.getToolCall('call'))!.status).toBe('resolved')
    })

    test('a call is open in the round it was in at the fork', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.commit('chat', {
        events: [resolution('call'), suspension('call', { round: 2, kind: 'client_exec' })],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: true }],
        calls: [{ id: 'call', round: 2, kind: 'client_exec' }],
      })
      await store.fork('chat', 'first', { at: 4 })
      await store.fork('chat', 'second')
      expect(await store.pendingToolCalls('first')).toMatchObject([{ round: 1, kind: 'approval' }])
      expect(await store.pendingToolCalls('second')).toMatchObject([{ round: 2, kind: 'client_exec' }])
    })

    test('a call in an earlier round tells what the log tells of it', async ({ store }) => {
      const doneBefore = { callId: 'earlier', outcome: 'failed' } as const
      await store.commit('chat', {
        events: [
          userMsg(),
          assistantMsg([{ type: 'call', callId: 'call' }]),
          toolCall('call', { description: 'Pay 1.00 EUR back' }),
          suspension('call', { doneBefore }),
        ],
        calls: [{ id: 'call' }],
      })
      await store.resolveToolCall('call', 'resolved', true)
      await store.upsertToolCall('chat', { id: 'call', round: 2, kind: 'client_exec' })
      await store.fork('chat', 'copy', { at: 4 })
      const notice = { description: 'Pay 1.00 EUR back', doneBefore }
      expect(await store.pendingToolCalls('copy')).toMatchObject([{ round: 1, notice }])
    })

    test('a call that was started, and one of a child agent, ends as unknown', async ({ store }) => {
      await store.commit('chat', {
        events: [
          userMsg(),
          assistantMsg([
            { type: 'call', callId: 'started' },
            { type: 'call', callId: 'child' },
          ]),
          toolCall('started', { gated: false }),
          toolCall('child', { gated: false, executor: 'agent' }),
          toolStarted('started'),
          suspension('child', { kind: 'sub_agent' }),
        ],
        calls: [{ id: 'child', kind: 'sub_agent', executor: 'agent' }],
      })
      await store.fork('chat', 'copy')
      const ids = await idsInLog(store, 'copy')
      expect(ids.includes('started') || ids.includes('child')).toBe(false)
      expect(await store.pendingToolCalls('copy')).toEqual([])
      const appended = await store.streamEvents('copy', { after: 6 })
      expect(appended.map(({ type, seq, content }) => ({ type, seq, content }))).toMatchObject([
        { type: 'tool_result', seq: 7, content: { callId: ids[0], ok: false, outcome: 'unknown' } },
        { type: 'tool_result', seq: 8, content: { callId: ids[1], ok: false, outcome: 'unknown' } },
      ])
      const copy = (await store.getConversation('copy'))!
      expect([copy.lastSeq, ...appended.map((event) => event.at)]).toEqual([8, copy.createdAt, copy.createdAt])
      expect((await store.streamEvents('chat')).length).toBe(6)
      expect((await store.getToolCall('child'))!.status).toBe('pending')
    })

    test('an approval counts once: a call that was approved ends as unknown, also where it was not started', async ({
      store,
    }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.resolveToolCall('call', 'resolved', true)
      const [, , , , resolved] = await store.streamEvents('chat')
      await store.fork('chat', 'copy', { at: resolved!.seq })
      await store.appendEvent('chat', toolStarted('call'))
      await store.fork('chat', 'later')
      for (const copy of ['copy', 'later']) {
        const [id] = await idsInLog(store, copy)
        const last = (await store.streamEvents(copy)).at(-1)!
        expect(last).toMatchObject({ type: 'tool_result', content: { callId: id, ok: false, outcome: 'unknown' } })
        expect(await store.pendingToolCalls(copy)).toEqual([])
      }
    })

    test('a call that was not started yet is neither closed nor waiting', async ({ store }) => {
      await store.commit('chat', {
        events: [userMsg(), assistantMsg([{ type: 'call', callId: 'call' }]), toolCall('call', { gated: false })],
      })
      await store.fork('chat', 'copy')
      const [id] = await idsInLog(store, 'copy')
      expect(id === 'call').toBe(false)
      expect((await store.streamEvents('copy')).length).toBe(3)
      expect(await store.pendingToolCalls('copy')).toEqual([])
    })

    test('deadlines keep their time, also when they were moved', async ({ store, pass }) => {
      await suspendCalls(store, 'chat', ['one', 'two'], { expiresInMs: minute })
      await store.scheduleExpiry('chat', 'two', 10 * minute)
      await pass(5)
      await store.fork('chat', 'copy')
      const deadlines = async (id: string) => {
        const rows = await store.pendingToolCalls(id)
        return rows.map((row) => row.expiresAt!).sort((left, right) => left - right)
      }
      expect(await deadlines('copy')).toEqual(await deadlines('chat'))
    })

    test('rows without events come along with fresh ids when the whole log does', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', name: 'refund' })
      await store.fork('chat', 'copy')
      const [row] = await store.pendingToolCalls('copy')
      expect(row).toMatchObject({ name: 'refund', conversationId: 'copy' })
      expect(row!.id === 'call').toBe(false)
      expect((await store.pendingToolCalls('chat')).map((call) => call.id)).toEqual(['call'])
    })
  })
}

/** The ids of the calls in the log, in its order. */
async function idsInLog(store: TenantStore, id: string): Promise<string[]> {
  const events = await store.streamEvents(id)
  return events.filter((event) => event.type === 'tool_call').map((event) => event.content.callId)
}

export function forkDormancy({ describe, test, testReopening, expect }: Suite): void {
  describe('a fork does nothing by itself', () => {
    test('a fork is not due, though its source is', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      await store.fork('chat', 'copy')
      expect(await due(store)).toEqual(['chat'])
    })

    test('an expiry in a fork is recorded and does not wake it', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      const before = (await store.getConversation('copy'))!
      await expireBoth(store)
      await eventually('both expire', async () => (await store.pendingInbox()).length === 0)
      expect(await due(store)).toEqual(['chat'])
      const last = (await store.streamEvents('copy')).at(-1)!
      expect(last).toMatchObject({ seq: 6, type: 'resolution', content: { status: 'expired' } })
      expect((await store.getConversation('copy'))!.status).toBe(before.status)
    })

    const awakening: readonly [string, (store: Store, callId: string) => Promise<unknown>][] = [
      ['a message', (store) => store.appendEvent('copy', userMsg('go on', 'turn-2'))],
      ['an answer', (store, callId) => store.resolveToolCall(callId, 'resolved', true)],
      [
        'a commit with an answer',
        (store, callId) =>
          store.commit('copy', {
            events: [resolution(callId)],
            resolve: [{ callId, round: 1, status: 'resolved', result: true }],
          }),
      ],
      ['an explicit wake-up', (store) => store.commit('copy', { events: [], wakeAt: 'now' })],
    ]
    for (const [name, awaken] of awakening) {
      test(`${name} wakes a fork, and from then on an expiry does too`, async ({ store, eventually }) => {
        await suspendCalls(store, 'chat', ['one', 'two'])
        await store.fork('chat', 'copy')
        const [first, second] = await store.pendingToolCalls('copy')
        await awaken(store, first!.id)
        expect(await due(store)).toEqual(['copy'])
        await store.commit('copy', { events: [], wakeAt: null })
        expect(await due(store)).toEqual([])
        await store.scheduleExpiry('copy', second!.id, 10)
        await eventually('the fork is due', async () => (await due(store)).includes('copy'))
        expect((await store.getToolCall(second!.id))!.status).toBe('expired')
      })
    }

    test('writes that do not wake leave a fork dormant', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      const [call] = await store.pendingToolCalls('copy')
      await store.appendEvent('copy', titled('A'))
      await store.putConversation('copy', { title: 'A' })
      const { epoch } = (await store.acquireLease('copy', 'one', 60_000))!
      await store.commit('copy', { events: [], epoch, wakeAt: null, lease: 'release' })
      await store.scheduleExpiry('copy', call!.id, 10)
      await eventually('it expires', async () => (await store.pendingToolCalls('copy')).length === 0)
      expect(await due(store)).toEqual([])
    })

    testReopening('a fork is still dormant after the store was opened again', async ({ store, reopen, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.fork('chat', 'copy')
      const again = await reopen()
      await expireBoth(again)
      await eventually('both expire', async () => (await again.pendingInbox()).length === 0)
      expect(await due(again)).toEqual(['chat'])
    })
  })
}

async function expireBoth(store: Store): Promise<void> {
  for (const { id, conversationId } of await store.pendingInbox()) await store.scheduleExpiry(conversationId, id, 10)
}

async function due(store: Store): Promise<string[]> {
  return (await store.dueWork({ agents: ['support'], limit: 9 })).map((work) => work.id).sort()
}
