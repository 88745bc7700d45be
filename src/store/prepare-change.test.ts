import { expect, test, vi } from 'vitest'
import type { NewEvent } from '../log/events.ts'
import { type Change, markOwnerChange } from './change.ts'
import { type PrepareOptions, prepareChange } from './prepare-change.ts'

const blob = 'ab'.repeat(32)
const said: NewEvent = {
  type: 'user_msg',
  content: { turnId: 't1', message: { parts: [{ type: 'text', text: 'Hi' }] }, options: {}, who: 'ann' },
}
const titled: NewEvent = { type: 'titled', content: { title: 'A' } }
const ended: NewEvent = { type: 'turn_ended', content: { turnId: 't1', status: 'completed', reason: null } }
const cancelled: NewEvent = { type: 'cancel_requested', content: { turnId: 't1', who: 'ann' } }
const moved = (expiresInMs: number | null, callId = 'c1'): NewEvent => {
  return { type: 'deadline_moved', content: { callId, round: 2, expiresInMs, who: 'ann' } }
}
const resolution = (status: 'resolved' | 'denied', kind: 'approval' | 'client_exec' = 'approval'): NewEvent => {
  return { type: 'resolution', content: { callId: 'c1', round: 1, kind, status, value: null, who: 'ann' } }
}
const encoded = (...events: NewEvent[]) =>
  events.map(({ type, content }) => ({ type, content: JSON.stringify(content) }))
const prepared = (change: Partial<Change>, options: PrepareOptions = {}) =>
  prepareChange({ events: [], ...change }, options)

const nothing = {
  events: [],
  blobs: [],
  expectedSeq: null,
  expectedAt: null,
  expectedAgent: null,
  epoch: null,
  needsFree: false,
  key: null,
  digest: null,
  calls: [],
  resolve: [],
  deadline: null,
  attrs: {},
  wake: { type: 'keep' },
  releasesLease: false,
  acquires: null,
  creates: false,
  seeds: false,
  withdrawsFrom: null,
}

test('an empty change asks for nothing', () => {
  expect(prepared({})).toStrictEqual(nothing)
  expect(prepareChange(markOwnerChange({ events: [] }))).toStrictEqual(nothing)
})

test.each<[string, Partial<Change>, object, PrepareOptions?]>([
  ['the log as it was', { expectedSeq: 5, expectedAt: 7 }, { expectedSeq: 5, expectedAt: 7 }],
  ['its agent', { expectedSeq: 5, expectedAgent: 'a' }, { expectedSeq: 5, expectedAgent: 'a' }],
  ['no event yet', { expectedSeq: 0 }, { expectedSeq: 0 }],
  ['an epoch', { epoch: 0 }, { epoch: 0 }],
  ['a key and what it is for', { key: 'k', digest: 'd' }, { key: 'k', digest: 'd' }],
  ['a key to resend with, where nothing is resent', { resendKey: 'r' }, {}],
  ['a key to resend with', { resendKey: 'r' }, { key: 'r' }, { resends: true }],
  ['both keys', { key: 'k', resendKey: 'r' }, { key: 'k' }, { resends: true }],
  ['to let go', { epoch: 3, lease: 'release' }, { epoch: 3, releasesLease: true }],
  [
    'to take the lease',
    { acquire: { holder: 'h', ttlMs: 9 } },
    { acquires: { holder: 'h', ttlMs: 9, suspects: true, limits: {} } },
  ],
  [
    'to take the lease without suspicion',
    { acquire: { holder: 'h', ttlMs: 9, suspects: false } },
    { acquires: { holder: 'h', ttlMs: 9, suspects: false, limits: {} } },
  ],
  ['no wake-up', { wakeAt: null }, { wake: { type: 'clear' } }],
  ['a wake-up now', { wakeAt: 'now' }, { wake: { type: 'in', ms: 0 } }],
  ['a wake-up at once', { wakeAt: { inMs: 0 } }, { wake: { type: 'in', ms: 0 } }],
  ['a wake-up later', { wakeAt: { inMs: 80 } }, { wake: { type: 'in', ms: 80 } }],
  ['an expiry', {}, { wake: { type: 'expiry' } }, { isExpiry: true }],
  ['an expiry with a wake-up', { wakeAt: 'now' }, { wake: { type: 'in', ms: 0 } }, { isExpiry: true }],
  ['to begin', {}, { creates: true }, { creates: true }],
])('a change with %s asks for that alone', (_, change, asked, options) => {
  expect(prepared(change, options)).toStrictEqual({ ...nothing, ...asked })
})

test('a change that takes the lease has a key of its own where it may be resent', () => {
  const acquire = { holder: 'h', ttlMs: 9 }
  const keys = [1, 2].map(() => prepared({ acquire }, { resends: true }).key)
  expect(keys[0]).toMatch(/^acquire\/[0-9a-f-]{36}$/)
  expect(keys[1]).not.toBe(keys[0])
  expect(prepared({ acquire, resendKey: 'r' }, { resends: true }).key).toBe('r')
  expect(prepared({ acquire, key: 'k' }, { resends: true }).key).toBe('k')
})

test.each<[string, Partial<Change>, object, PrepareOptions?]>([
  [
    'a message begins a log, wakes it and says who opened it',
    { events: [said] },
    { creates: true, wake: { type: 'in', ms: 0 }, attrs: { owner: 'ann', status: 'active' } },
  ],
  [
    'a message with an epoch begins none',
    { events: [said], epoch: 1 },
    { epoch: 1, wake: { type: 'in', ms: 0 }, attrs: { status: 'active' } },
  ],
  [
    'a message to a log that is known does not say who opened it',
    { events: [said], expectedSeq: 4 },
    { expectedSeq: 4, creates: true, wake: { type: 'in', ms: 0 }, attrs: { status: 'active' } },
  ],
  [
    'a message may leave a log asleep',
    { events: [said], wakeAt: null },
    { creates: true, wake: { type: 'clear' }, attrs: { owner: 'ann' } },
  ],
  ['what an owner writes needs a free log', { events: [ended] }, { needsFree: true }],
  ['what an owner writes under its epoch does not', { events: [ended], epoch: 1 }, { epoch: 1 }],
  ['what ends a call by its id does not', { events: [ended] }, {}, { endsCall: true }],
  ['a title is written to the log and to the row', { events: [titled] }, { attrs: { title: '"A"' } }],
  ['a wish to cancel wakes', { events: [cancelled] }, { wake: { type: 'in', ms: 0 }, attrs: { status: 'active' } }],
  ['a deadline is moved', { events: [moved(50)] }, { deadline: { callId: 'c1', round: 2, expiresInMs: 50 } }],
  ['a deadline is taken away', { events: [moved(null)] }, { deadline: { callId: 'c1', round: 2, expiresInMs: null } }],
])('%s', (_, change, asked, options) => {
  const events = encoded(...(change.events as NewEvent[]))
  expect(prepared(change, options)).toStrictEqual({ ...nothing, events, ...asked })
})

test('a log that begins with a seed is one that begins with it', () => {
  const seeded: NewEvent = { type: 'seeded', content: { state: null } }
  expect(prepared({ events: [seeded, said] })).toMatchObject({ seeds: true, creates: true })
  expect(prepared({ events: [said, seeded] })).toMatchObject({ seeds: false })
})

test('the files of messages are named once each', () => {
  const image = { blob, mediaType: 'image/png', size: 3 }
  const file = { type: 'file' as const, mediaType: 'image/png', data: image }
  const shown: NewEvent = { type: 'user_msg', content: { ...said.content, message: { parts: [file, file] } } as never }
  expect(prepared({ events: [shown, shown] }).blobs).toEqual([blob])
})

test('what is stored of a conversation is what is given, the state and the wake-up only where nothing is', () => {
  const idle = { state: 'idle', lastSeq: 4 } as never
  const busy = { state: 'streaming', lastSeq: 4 } as never
  const of = (change: Partial<Change>) => prepared(change).attrs
  expect(of({ conversation: { agent: 'a', owner: 'bob', kind: 'flow', status: 'ended', settings: { a: 1 } } })).toEqual(
    {
      ...{ agent: 'a', owner: 'bob', kind: 'flow', status: 'ended', settings: '{"a":1}' },
    },
  )
  expect(of({ events: [said], conversation: { owner: 'bob', status: 'idle' } })).toEqual({
    owner: 'bob',
    status: 'idle',
  })
  expect(of({ fsmState: idle })).toEqual({ status: 'idle', fsmState: JSON.stringify(idle) })
  expect(of({ fsmState: idle, epoch: 1 })).toMatchObject({ idleSeq: 4 })
  expect(of({ fsmState: idle, expectedSeq: 4 })).toMatchObject({ idleSeq: 4 })
  expect(of({ fsmState: busy, epoch: 1 })).toMatchObject({ status: 'active', idleSeq: 0 })
  expect(of({ conversation: { fsmState: idle }, epoch: 1 })).toEqual({ status: 'idle', fsmState: JSON.stringify(idle) })
  expect(of({ events: [said], fsmState: idle, epoch: 1 })).toMatchObject({ status: 'idle' })
  expect(of({ conversation: { fsmState: idle, status: 'suspended' } })).toMatchObject({ status: 'suspended' })
  expect(of({ conversation: { parent: { callId: 'c1', at: 3, id: 'p' } } })).toEqual({
    parent: '{"id":"p","at":3,"callId":"c1"}',
    childOf: 'p',
  })
  expect(of({ conversation: { parent: { id: 'p', at: 3 } } })).toEqual({ parent: '{"id":"p","at":3}', childOf: null })
  expect(of({ conversation: { parent: { id: 'p' } } })).toEqual({ parent: '{"id":"p"}', childOf: null })
})

test('the row of a call has everything it is given, and what a call usually is for the rest', () => {
  const row = { id: 'c1', name: '""', executor: 'server', status: 'pending', args: 'null', result: null, round: 1 }
  const rest = { kind: 'approval', prompt: null, expiresInMs: null }
  expect(prepared({ calls: [{ id: 'c1' }] }).calls).toMatchObject([{ ...row, ...rest }])
  const call = {
    id: 'c1',
    name: 'pay',
    executor: 'client',
    args: [1],
    round: 2,
    kind: 'client_exec',
    prompt: '?',
  } as const
  const stored = {
    id: 'c1',
    name: '"pay"',
    executor: 'client',
    args: '[1]',
    round: 2,
    kind: 'client_exec',
    prompt: '"?"',
  }
  expect(prepared({ calls: [{ ...call, expiresInMs: 9 }] }).calls).toMatchObject([
    { ...stored, status: 'pending', result: null, expiresInMs: 9 },
  ])
  expect(prepared({ calls: [{ ...call, status: 'resolved', result: 3, expiresInMs: 9 }] }).calls).toMatchObject([
    { ...stored, status: 'resolved', result: '3', expiresInMs: null },
  ])
  expect(prepared({ calls: [{ id: 'c1', conversationId: 'chat' }] }, { conversationId: 'chat' }).calls).toHaveLength(1)
})

test('a call that ends is ended with the first event that says so, and only when due where it expires', () => {
  const resolve = [{ callId: 'c1', round: 1, status: 'resolved' as const, result: 5 }]
  const row = { callId: 'c1', round: 1, status: 'resolved', result: '5', onlyWhenDue: false }
  expect(prepared({ resolve }).resolve).toEqual([{ ...row, eventIndex: null }])
  expect(prepared({ resolve, events: [titled, resolution('resolved'), resolution('denied')] }).resolve).toEqual([
    { ...row, eventIndex: 1 },
  ])
  const other = resolve.map((item) => ({ ...item, round: 2 }))
  expect(prepared({ resolve: other, events: [resolution('denied')] }).resolve).toEqual([
    { ...row, round: 2, eventIndex: null },
  ])
  expect(prepared({ resolve }, { isExpiry: true }).resolve).toEqual([{ ...row, eventIndex: null, onlyWhenDue: true }])
})

test.each([
  ['resolved', resolution('resolved'), true],
  ['denied', resolution('resolved'), false],
  ['errored', resolution('denied'), true],
  ['errored', resolution('resolved'), false],
  ['errored', resolution('resolved', 'client_exec'), true],
  ['denied', resolution('resolved', 'client_exec'), false],
] as const)('a row that ends as %s beside %j is written: %s', (status, event, isWritten) => {
  const write = () => prepared({ events: [event], resolve: [{ callId: 'c1', round: 1, status, result: null }] })
  if (isWritten) expect(write().resolve).toHaveLength(1)
  else expect(write).toThrow(`ends call 'c1' as '${status}', but its resolution says`)
})

test.each<[string, Partial<Change>]>([
  ['a call row', { calls: [{ id: 'c9' }] }],
  ['the end of a call', { resolve: [{ callId: 'c9', round: 1, status: 'denied', result: null }] }],
  ['another deadline', { events: [moved(50), moved(60, 'c2')] }],
])('a deadline is not moved together with %s', (_, more) => {
  expect(() => prepared({ events: [moved(50)], ...more })).toThrow(
    'commit other deadlines, calls and resolve separately',
  )
})

test('an event may have 1 MiB, a note 64 KiB, and more than 256 KiB is told of', () => {
  const onLargeEvent = vi.fn()
  const note = (length: number): NewEvent => ({
    type: 'note',
    content: { name: 'n', data: 'x'.repeat(length), who: '' },
  })
  const title = (text: string): NewEvent => ({ type: 'titled', content: { title: text } })
  const around = JSON.stringify(note(0).content).length
  const bytes = (count: number) => title('x'.repeat(count - JSON.stringify({ title: '' }).length))
  const own = (event: NewEvent) => prepareChange(markOwnerChange({ events: [event] }), { onLargeEvent })
  own(note(64 * 1024 - around))
  expect(() => own(note(64 * 1024 - around + 1))).toThrow(expect.objectContaining({ code: 'event_too_large' }))
  own(bytes(256 * 1024))
  expect(onLargeEvent).not.toHaveBeenCalled()
  own(bytes(256 * 1024 + 1))
  expect(onLargeEvent.mock.calls).toEqual([['titled', 256 * 1024 + 1]])
  own(bytes(1024 * 1024))
  expect(() => own(bytes(1024 * 1024 + 1))).toThrow(expect.objectContaining({ code: 'event_too_large' }))
  own(title('é'.repeat(128 * 1024)))
  expect(onLargeEvent).toHaveBeenCalledTimes(3)
})

const ending = { callId: 'c1', round: 1, status: 'denied' as const, result: null }
const anything = 7n as never

test.each<[string, Partial<Change>, string]>([
  ['a suspicion that is none', { acquire: { holder: 'h', ttlMs: 9, suspects: 'x' as never } }, "'suspects' must be"],
  ['two rows of one call', { calls: [{ id: 'c1' }, { id: 'c1' }] }, "'calls' must not name a call twice"],
  ['two ends of one call', { resolve: [ending, ending] }, "'resolve' must not name a call twice"],
  ['an owner without a name', { conversation: { owner: '' } }, 'The owner is empty'],
  ['an agent without a name', { conversation: { agent: '' } }, 'The agent is empty'],
  ['a title that is not JSON', { conversation: { title: anything } }, "'title'"],
  ['settings that are not JSON', { conversation: { settings: { a: anything } } }, "'settings.a'"],
  ['a state that is not JSON', { fsmState: { state: 'idle', lastSeq: anything } as never }, "'fsmState.lastSeq'"],
  ['a result that is not JSON', { resolve: [{ ...ending, result: anything }] }, "'result'"],
  ['a call with a name that is not JSON', { calls: [{ id: 'c1', name: anything }] }, "'name'"],
  ['a call with arguments that are not JSON', { calls: [{ id: 'c1', args: anything }] }, "'args'"],
  ['a call with a result that is not JSON', { calls: [{ id: 'c1', result: anything }] }, "'result'"],
  ['a call with a prompt that is not JSON', { calls: [{ id: 'c1', prompt: anything }] }, "'prompt'"],
  ['a call of another log', { calls: [{ id: 'c1', conversationId: 'x' }] }, "'conversationId' of call 'c1' is"],
  ['a question of a flow with a deadline', { calls: [{ id: 'c1', kind: 'flow', expiresInMs: 9 }] }, "'expiresInMs'"],
  ['an event without its fields', { events: [{ type: 'titled', content: {} } as never] }, "'content.title' must be"],
  ['an event that is not JSON', { events: [{ type: 'titled', content: { title: anything } }] }, "'content.title'"],
])('a change with %s is refused', (_, change, problem) => {
  expect(() => prepared(change)).toThrow(problem)
  expect(() => prepareChange(markOwnerChange({ events: [], ...change }))).toThrow(problem)
})

test('a call may say that it has no deadline', () => {
  for (const kind of ['approval', 'flow'] as const)
    expect(prepared({ calls: [{ id: 'c1', kind, expiresInMs: null }] }).calls).toMatchObject([{ expiresInMs: null }])
})
