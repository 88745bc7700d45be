import type { NewEvent } from '../../log/events.ts'
import type { Store } from '../../store/store.ts'
import {
  assistantMsg,
  cancelRequested,
  flowStarted,
  resolution,
  seeded,
  suspension,
  titled,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
} from './event-builders.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

const minute = 60_000

/** An event of which one field is not what its type promises, and the name of that field. */
const malformed: readonly (readonly [field: string, event: unknown])[] = [
  ['type', { type: 'from_the_future', content: {} }],
  ['type', { type: '', content: {} }],
  ['type', { type: 'toString', content: {} }],
  ['type', { content: { title: 'no type' } }],
  ['content', { type: 'titled', content: null }],
  ['content', { type: 'titled', content: ['a title'] }],
  ['content.turnId', { type: 'user_msg', content: { message: { parts: [] }, options: {}, who: 'ann' } }],
  [
    'content.message.parts[0].text',
    { type: 'user_msg', content: { turnId: 't', message: { parts: [{ type: 'text' }] }, options: {}, who: 'ann' } },
  ],
  ['content.parts', { ...assistantMsg(), content: { ...assistantMsg().content, parts: 'hi' } }],
  ['content.parts[0].type', assistantMsg([{ type: 'shout', text: 'hi' } as never])],
  ['content.status', { ...assistantMsg(), content: { ...assistantMsg().content, status: 'done' } }],
  [
    'content.usage.inputTokens',
    { ...assistantMsg(), content: { ...assistantMsg().content, usage: { inputTokens: -1 } } },
  ],
  ['content.executor', toolCall('call', { executor: 'robot' as never })],
  ['content.expiresInMs', toolCall('call', { expiresInMs: 0 })],
  ['content.attempt', toolStarted('call', 0)],
  ['content.kind', suspension('call', { kind: 'whim' as never })],
  ['content.round', suspension('call', { round: 1.5 })],
  ['content.callId', resolution('')],
  ['content.status', resolution('call', { status: 'errored' as never })],
  ['content.ok', toolResult('call', { ok: 'yes' } as never)],
  ['content.error', toolResult('call', { ok: false } as never)],
  ['content.parts', { type: 'injection', content: { turnId: 't', step: 0, hook: 'memory', parts: {} } }],
  ['content.n', { type: 'regeneration', content: { messageId: 'm', n: 0, feedback: '' } }],
  ['content.messageId', { type: 'withheld', content: { hook: 'guard' } }],
  ['content.who', { type: 'cancel_requested', content: { turnId: 't' } }],
  ['content.status', { type: 'turn_ended', content: { turnId: 't', status: 'over', reason: null } }],
  ['content.title', titled(7 as never)],
  ['content.state', { type: 'seeded', content: {} }],
  ['content.flow', { type: 'flow_started', content: { version: '1', input: null, who: 'ann' } }],
  ['content.op.kind', { type: 'flow_opened', content: { position: 1, asked: 1, op: { kind: 'wish' } } }],
  ['content.position', { type: 'flow_outcome', content: { position: 0, ok: true, value: 1 } }],
  ['content.version', { type: 'flow_continued', content: { input: null } }],
  ['content.status', { type: 'flow_ended', content: { status: 'over' } }],
  ['content.title', { type: 'titled', content: Object.defineProperty({}, 'title', { value: 'not written' }) }],
]

/** What an owner writes while it works on a turn. */
const ownersEvents: readonly NewEvent[] = [
  assistantMsg(),
  toolCall('call-2'),
  toolStarted('call-2'),
  suspension('call-2'),
  toolResult('call-2'),
  { type: 'injection', content: { turnId: 'turn-1', step: 0, hook: 'memory', parts: [] } },
  { type: 'regeneration', content: { messageId: 'message-1', n: 1, feedback: 'no' } },
  { type: 'withheld', content: { messageId: 'message-2', hook: 'guard' } },
  turnEnded(),
  { type: 'flow_opened', content: { position: 1, op: { kind: 'now' }, asked: 1 } },
  { type: 'flow_continued', content: { version: '1', input: null } },
  { type: 'flow_ended', content: { status: 'done', result: null } },
]

/** What needs no lease, whoever works on the log. */
const openEvents: readonly NewEvent[] = [
  userMsg('and another', 'turn-2'),
  cancelRequested(),
  titled('Refunds'),
  seeded(),
  resolution('nobody'),
  flowStarted(),
  { type: 'flow_outcome', content: { position: 1, ok: true, value: 1, who: 'ann' } },
]

export function eventsFromOutside({ describe, test, expect, refused }: Suite): void {
  describe('events from outside', () => {
    for (const [index, [field, event]] of malformed.entries()) {
      const { type } = event as { type?: string }
      test(`an event whose ${field} makes no sense is refused with its name (${index + 1}: ${type})`, async ({
        store,
      }) => {
        await store.commit('chat', { events: [userMsg()], wakeAt: null })
        const before = await observe(store, { ids: ['chat', 'new'] })
        const bad = event as NewEvent
        for (const attempt of [
          () => store.appendEvent('chat', bad),
          () => store.appendEvent('new', bad),
          () => store.commit('chat', { events: [titled('one'), bad, titled('two')] }),
          () => store.commit('new', { events: [userMsg(), bad] }),
        ]) {
          const error = await refused('event_invalid', attempt, field)
          expect(error.message.includes(`'${field}'`) ? '' : error.message).toBe('')
        }
        expect(await observe(store, { ids: ['chat', 'new'] })).toEqual(before)
      })
    }

    test('fields that a type does not promise are kept', async ({ store }) => {
      const content = { ...titled('A').content, mood: 'good' }
      await store.appendEvent('chat', { type: 'titled', content })
      expect((await store.streamEvents('chat'))[0]!.content).toEqual(content)
    })

    for (const event of ownersEvents) {
      test(`${event.type} needs the epoch while a lease is live`, async ({ store, pass }) => {
        await store.commit('chat', { events: [userMsg()] })
        const { epoch } = (await store.acquireLease('chat', 'one', minute))!
        await staysOut(store, event)
        expect(await store.commit('chat', { events: [event], epoch })).toMatchObject({ ok: true, seq: 2 })
        await store.releaseLease('chat', epoch)
        expect(await store.appendEvent('chat', event)).toBe(3)
        await store.acquireLease('chat', 'two', 20)
        await pass(25)
        expect(await store.appendEvent('chat', event)).toBe(4)
      })
    }

    for (const event of ownersEvents) {
      test(`${event.type} needs the epoch while a call is pending`, async ({ store }) => {
        await suspendCalls(store, 'chat', ['one', 'two'])
        await store.resolveToolCall('one', 'resolved', true)
        await staysOut(store, event)
        const { epoch } = (await store.acquireLease('chat', 'owner', minute))!
        expect(await store.commit('chat', { events: [event], epoch, lease: 'release' })).toMatchObject({ ok: true })
        await store.resolveToolCall('two', 'resolved', true)
        expect(await store.commit('chat', { events: [event] })).toMatchObject({ ok: true })
      })
    }

    test('what asks, answers or names is taken from anybody, whoever works on the log', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await store.acquireLease('chat', 'one', minute)
      for (const [index, event] of openEvents.entries()) expect(await store.appendEvent('chat', event)).toBe(5 + index)
    })

    test('a commit that ends the pending call may tell what follows', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const events = [resolution('call'), toolStarted('call')]
      const resolve = [{ callId: 'call', round: 1, status: 'resolved', result: true }] as const
      expect(await store.commit('chat', { events, resolve })).toMatchObject({ ok: true, seq: 6 })
    })

    test('the lease and the calls of other conversations do not matter', async ({ store }) => {
      await suspendCalls(store, 'other', ['call'])
      await store.acquireLease('other', 'one', minute)
      await suspendCalls(store.forTenant('acme'), 'chat', ['call'])
      expect(await store.appendEvent('chat', userMsg())).toBe(1)
      expect(await store.appendEvent('chat', assistantMsg())).toBe(2)
    })

    test('a known key is answered before anybody asks for the epoch', async ({ store }) => {
      const change = { events: [userMsg(), turnEnded()], key: 'once' }
      await store.commit('chat', change)
      await store.acquireLease('chat', 'one', minute)
      expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: 2 })
    })

    async function staysOut(store: Store, event: NewEvent): Promise<void> {
      const observed = { ids: ['chat'], callIds: ['one', 'two', 'three'] }
      const before = await observe(store, observed)
      await refused('owner_only', () => store.appendEvent('chat', event))
      await refused('owner_only', () => store.commit('chat', { events: [titled('first'), event] }))
      await refused('owner_only', () => store.commit('chat', { events: [event], calls: [{ id: 'three' }] }))
      expect(await observe(store, observed)).toEqual(before)
    }
  })
}
