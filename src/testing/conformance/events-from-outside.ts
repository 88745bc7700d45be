import type { NewEvent } from '../../log/events.ts'
import type { Store } from '../../store/store.ts'
import {
  assistantMsg,
  cancelRequested,
  flowStarted,
  note,
  observe,
  resolution,
  seeded,
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

/** Events with one field that does not match their type, and the name of that field. */
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
  [
    'content.usage',
    {
      type: 'attempt_discarded',
      content: { turnId: 't', messageId: 'm', model: { provider: 'p', modelId: 'm' }, code: 'x' },
    },
  ],
  ['content.round', { type: 'tool_asked', content: { callId: 'call', round: 0, state: null } }],
  ['content.reason', { type: 'halted_by', content: { callId: 'call' } }],
  ['content.who', { type: 'scope_missing', content: { turnId: 'turn-1', reason: 'no directory' } }],
  ['content.patch.set', { type: 'state_set', content: { patch: { todos: [] }, exposed: [], who: 'ann' } }],
  [
    'content.patch.remove[0]',
    { type: 'state_set', content: { patch: { set: {}, remove: [7] }, exposed: [], who: 'ann' } },
  ],
  ['content.exposed', { type: 'state_set', content: { patch: { set: {}, remove: [] }, who: 'ann' } }],
  ['content.callId', { type: 'state_refused', content: { reason: 'no list' } }],
  ['content.who', { type: 'cancel_requested', content: { turnId: 't' } }],
  ['content.fromSeq', { type: 'superseded', content: { fromSeq: 0, by: 'turn-2' } }],
  ['content.by', { type: 'superseded', content: { fromSeq: 1 } }],
  ['content.status', { type: 'turn_ended', content: { turnId: 't', status: 'over', reason: null } }],
  ['content.title', titled(7 as never)],
  ['content.name', note('')],
  ['content.data', { type: 'note', content: { name: 'rated', who: 'ann' } }],
  ['content.who', { type: 'note', content: { name: 'rated', data: 5 } }],
  ['content.round', { type: 'deadline_moved', content: { callId: 'call', round: 0, expiresInMs: 5, who: 'ann' } }],
  [
    'content.expiresInMs',
    { type: 'deadline_moved', content: { callId: 'call', round: 1, expiresInMs: 0, who: 'ann' } },
  ],
  ['content.state', { type: 'seeded', content: {} }],
  ['content.through', { type: 'restored', content: { version: 3, seq: 1, through: 1 } }],
  ['content.flow', { type: 'flow_started', content: { version: '1', input: null, who: 'ann' } }],
  ['content.op.kind', { type: 'flow_opened', content: { position: 1, asked: 1, op: { kind: 'wish' } } }],
  ['content.position', { type: 'flow_outcome', content: { position: 0, ok: true, value: 1 } }],
  ['content.version', { type: 'flow_continued', content: { input: null } }],
  ['content.status', { type: 'flow_ended', content: { status: 'over' } }],
  ['content.title', { type: 'titled', content: Object.defineProperty({}, 'title', { value: 'not written' }) }],
]

/** The events that an owner writes while it works on a turn. */
const ownersEvents: readonly NewEvent[] = [
  assistantMsg(),
  toolCall('call-2'),
  toolStarted('call-2'),
  suspension('call-2'),
  toolResult('call-2'),
  { type: 'injection', content: { turnId: 'turn-1', step: 0, hook: 'memory', parts: [] } },
  { type: 'regeneration', content: { messageId: 'message-1', n: 1, feedback: 'no' } },
  { type: 'withheld', content: { messageId: 'message-2', hook: 'guard' } },
  {
    type: 'attempt_discarded',
    content: { turnId: 'turn-1', messageId: 'message-3', model: { provider: 'p', modelId: 'm' }, usage: {}, code: 'x' },
  },
  { type: 'restored', content: { version: 3, seq: 1, through: 2 } },
  { type: 'tool_asked', content: { callId: 'call-2', round: 1, state: { step: 2 } } },
  { type: 'halted_by', content: { callId: 'call-2', reason: 'handed over' } },
  { type: 'scope_missing', content: { turnId: 'turn-1', who: 'ann', reason: 'no directory' } },
  {
    type: 'state_set',
    content: { callId: 'call-2', patch: { set: { todos: [] }, remove: [] }, exposed: [], who: 'ann' },
  },
  { type: 'state_refused', content: { callId: 'call-2', reason: 'no list' } },
  turnEnded(),
  { type: 'flow_opened', content: { position: 1, op: { kind: 'now' }, asked: 1 } },
  { type: 'flow_continued', content: { version: '1', input: null } },
  { type: 'flow_ended', content: { status: 'done', result: null } },
]

/** The events that need no lease. */
const openEvents: readonly NewEvent[] = [
  userMsg('and another', 'turn-2'),
  cancelRequested(),
  titled('Refunds'),
  note('rated'),
  { type: 'state_set', content: { patch: { set: { todos: [] }, remove: ['draft'] }, exposed: [], who: 'ann' } },
  seeded(),
  resolution('absent'),
  flowStarted(),
  { type: 'flow_outcome', content: { position: 1, ok: true, value: 1, who: 'ann' } },
]

export function eventsFromOutside({ describe, test, expect, refused }: Suite): void {
  describe('events from outside', () => {
    for (const [index, [field, event]] of malformed.entries()) {
      const { type } = event as { type?: string }
      test(`an event whose ${field} is wrong is refused with its name (${index + 1}: ${type})`, async ({ store }) => {
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

    test('events that ask, answer or name need no lease, even while one is live', async ({ store }) => {
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

    test('a known key is answered before the epoch is checked', async ({ store }) => {
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

const century = 3_155_760_000_000
const mebibyte = 1024 * 1024
/** The bytes around the state in an encoded `seeded` event: `{"state":""}`. */
const frame = 12
/** The bytes around the data of `note('n', '')`. */
const noteFrame = 34

export function limitsAndBadInput({ describe, test, expect, refused }: Suite): void {
  describe('limits and bad input', () => {
    test('an event of exactly a mebibyte is kept, counted in bytes', async ({ store }) => {
      const texts = [
        'x'.repeat(mebibyte - frame),
        'é'.repeat((mebibyte - frame) / 2),
        '€'.repeat((mebibyte - frame) / 3),
      ]
      // A first event: an id that another case deleted cannot be seeded.
      await store.appendEvent('chat', userMsg())
      for (const text of texts) {
        const seq = await store.appendEvent('chat', seeded(text))
        const [event] = await store.streamEvents('chat', { after: seq - 1 })
        expect((event!.content as { state: string }).state === text).toBe(true)
      }
    })

    test('an event of more than a mebibyte is refused, and all of its commit', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const texts = ['x'.repeat(mebibyte - frame + 1), 'é'.repeat(mebibyte / 2), '\u0000'.repeat(mebibyte / 6)]
      for (const text of texts) {
        await refused('event_too_large', () => store.appendEvent('chat', seeded(text)))
        await refused('event_too_large', () =>
          store.commit('chat', { events: [titled('A'), seeded(text)], key: 'once' }),
        )
      }
      expect((await store.getConversation('chat'))!.lastSeq).toBe(1)
      expect(await store.commit('chat', { events: [titled('A')], key: 'once' })).toMatchObject({ ok: true, seq: 2 })
    })

    test('a note of more than 64 KiB is refused, counted in bytes', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const most = 64 * 1024 - noteFrame
      await store.appendEvent('chat', note('n', 'x'.repeat(most)))
      await store.appendEvent('chat', note('n', 'é'.repeat(most / 2)))
      for (const text of ['x'.repeat(most + 1), 'é'.repeat(most / 2 + 1), '\u0000'.repeat(most / 5)]) {
        await refused('event_too_large', () => store.commit('chat', { events: [titled('A'), note('n', text)] }))
      }
      expect((await store.getConversation('chat'))!.lastSeq).toBe(3)
    })

    test('invalid numbers are refused by every method', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [where, min, call] of wholeNumbers(store)) {
        for (const bad of [min - 1, -5, min + 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5', null, {}]) {
          await refused('invalid_argument', () => call(bad as never), `${where}: ${String(bad)}`)
        }
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('invalid durations are refused by every method', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [where, min, call] of durations(store)) {
        for (const bad of [min - 1, -5, min + 0.5, Number.NaN, Number.POSITIVE_INFINITY, century + 1, '5', {}]) {
          await refused('invalid_argument', () => call(bad as never), `${where}: ${String(bad)}`)
        }
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('unknown words are refused by every method', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [where, call] of words(store)) {
        for (const bad of ['', 'nonsense', 'Pending', null, 5, {}]) {
          await refused('invalid_argument', () => call(bad as never), `${where}: ${String(bad)}`)
        }
      }
      for (const field of ['status', 'executor', 'kind', 'round']) {
        for (const bad of ['', 'nonsense', 0, {}]) {
          await refused('invalid_argument', () => store.upsertToolCall('chat', { id: 'call', [field]: bad }), field)
        }
      }
      await refused('invalid_argument', () => store.resolveToolCall('call', 'pending' as never, null))
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('values of the wrong shape are refused', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const events of [undefined, null, 'events', {}]) {
        await refused('invalid_argument', () => store.commit('chat', { events } as never))
      }
      for (const event of [undefined, null, 'event']) {
        await refused('invalid_argument', () => store.appendEvent('chat', event as never))
      }
      for (const settings of [null, [], 'red', 5]) {
        await refused('invalid_argument', () => store.putConversation('chat', { settings } as never))
      }
      for (const wakeAt of ['later', 5, {}]) {
        await refused('invalid_argument', () => store.commit('chat', { events: [], wakeAt } as never))
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('bad input is refused before anything is looked at', async ({ store }) => {
      await refused('invalid_argument', () => store.streamEvents('absent', { limit: 0 }))
      await refused('invalid_argument', () => store.scheduleExpiry('absent', 'nothing', 0))
      await refused('invalid_argument', () => store.fork('absent', 'copy', { at: -1 }))
      await refused('invalid_argument', () => store.acquireLease('absent', 'one', 0))
      await refused('invalid_argument', () => store.resolveToolCall('nothing', 'nonsense' as never, null))
      await refused('invalid_value', () => store.resolveToolCall('nothing', 'resolved', Number.NaN))
    })
  })
}

type NumberPlace = [where: string, min: number, call: (value: number) => unknown]

function wholeNumbers(store: Store): NumberPlace[] {
  const resolve = (round: number) => [{ callId: 'call', round, status: 'resolved', result: null }] as const
  return [
    ['streamEvents after', 0, (after) => store.streamEvents('chat', { after })],
    ['streamEvents before', 0, (before) => store.streamEvents('chat', { before })],
    ['streamEvents limit', 1, (limit) => store.streamEvents('chat', { limit })],
    ['streamEvents maxBytes', 1, (maxBytes) => store.streamEvents('chat', { maxBytes })],
    ['pageEvents maxBytes', 1, (maxBytes) => store.pageEvents('chat', { maxBytes })],
    ['pageSince limit', 1, (limit) => store.pageSince('chat', { limit })],
    ['listConversations limit', 1, (limit) => store.listConversations({ limit })],
    ['listConversations maxBytes', 1, (maxBytes) => store.listConversations({ maxBytes })],
    ['pendingInbox limit', 1, (limit) => store.pendingInbox({ limit })],
    ['pendingInbox maxBytes', 1, (maxBytes) => store.pendingInbox({ maxBytes })],
    ['modelCalls skip', 0, (skip) => store.modelCalls('chat', { skip })],
    ['modelCalls maxBytes', 1, (maxBytes) => store.modelCalls('chat', { maxBytes })],
    ['dueWork limit', 1, (limit) => store.dueWork({ agents: ['support'], limit })],
    ['commit expectedSeq', 0, (expectedSeq) => store.commit('chat', { events: [], expectedSeq })],
    ['commit expectedAt', 0, (expectedAt) => store.commit('chat', { events: [], expectedSeq: 1, expectedAt })],
    ['commit epoch', 0, (epoch) => store.commit('chat', { events: [], epoch })],
    ['commit round', 1, (round) => store.commit('chat', { events: [], resolve: resolve(round) })],
    ['fork at', 0, (at) => store.fork('chat', 'copy', { at })],
    ['releaseLease epoch', 0, (epoch) => store.releaseLease('chat', epoch)],
  ]
}

function durations(store: Store): NumberPlace[] {
  return [
    ['scheduleExpiry', 1, (ms) => store.scheduleExpiry('chat', 'call', ms)],
    ['upsertToolCall', 1, (expiresInMs) => store.upsertToolCall('chat', { id: 'call', expiresInMs })],
    ['commit calls', 1, (expiresInMs) => store.commit('chat', { events: [], calls: [{ id: 'call', expiresInMs }] })],
    ['commit wakeAt', 0, (inMs) => store.commit('chat', { events: [], wakeAt: { inMs } })],
    ['acquireLease', 1, (ttlMs) => store.acquireLease('chat', 'one', ttlMs)],
    ['renewLeases', 1, (ttlMs) => store.renewLeases('one', ttlMs)],
    ['keepLeases', 1, (ttlMs) => store.keepLeases('one', ttlMs, [])],
    ['gcModelCalls', 0, (ttlMs) => store.gcModelCalls('chat', ttlMs)],
  ]
}

function words(store: Store): [string, (word: never) => unknown][] {
  return [
    ['streamEvents keep', (keep) => store.streamEvents('chat', { keep })],
    ['listConversations status', (status) => store.listConversations({ status })],
    ['putConversation status', (status) => store.putConversation('chat', { status })],
    ['putConversation kind', (kind) => store.putConversation('chat', { kind })],
    ['commit status', (status) => store.commit('chat', { events: [], conversation: { status } })],
    ['resolveToolCall status', (status) => store.resolveToolCall('call', status, null)],
    [
      'commit resolve status',
      (status) => store.commit('chat', { events: [], resolve: [{ callId: 'call', round: 1, status, result: null }] }),
    ],
  ]
}
