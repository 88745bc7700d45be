import fc from 'fast-check'
import type { ErrorCode } from '../../../src/base/errors/codes.ts'
import type { Json } from '../../../src/base/json.ts'
import type { NewEvent } from '../../../src/log/events.ts'
import type { Store, TenantStore } from '../../../src/store/store.ts'
import { Refused } from '../contract/state.ts'
import { atTenant } from '../generate/places.ts'
import { command } from './command.ts'

type Attempt = (handle: TenantStore, store: Store) => Promise<unknown>

const badIds = ['', '\u0000', 'a\nb', '\ud800', '\u0085', 'x'.repeat(256), '🦊'.repeat(64), null, 7] as string[]
const badLimits = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]
const badBounds = [-1, 0.5, Number.NaN, 2 ** 53]
const badDurations = [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 4_000_000_000_000]
const badValues = [undefined, Number.NaN, Number.NEGATIVE_INFINITY, 1n, Symbol('s'), () => 0, new Date(0), new Map()]
const cyclic: { self?: unknown } = {}
cyclic.self = [cyclic]

const seeded = (state: unknown) => ({ type: 'seeded', content: { state } }) as NewEvent

const withIds: readonly ((id: string) => Attempt)[] = [
  (id) => (handle) => handle.appendEvent(id, seeded(1)),
  (id) => (handle) => handle.streamEvents(id),
  (id) => (handle) => handle.getConversation(id),
  (id) => (handle) => handle.commit('c', { events: [seeded(1)], key: id }),
  (id) => (handle) => handle.getToolCall(id),
  (id) => (handle) => handle.resolveToolCall(id, 'resolved', null),
  (id) => (handle) => handle.upsertToolCall('c', { id }),
  (id) => (handle) => handle.acquireLease('c', id, 1000),
  (id) => (handle) => handle.putConversation('c', { agent: id }),
  (id) => (handle) => handle.fork('c', id),
  (id) => (handle) => handle.deleteConversation(id),
  (id) => (_, store) => store.deleteTenant(id),
  (id) => async (_, store) => store.forTenant(id).getConversation('c'),
]

/** Of something that is there, or would be made. */
const withNewIds: readonly ((id: string) => Attempt)[] = [
  (id) => (handle) => handle.appendEvent(id, seeded(1)),
  (id) => (handle) => handle.commit(id, { events: [seeded(1)], key: 'k' }),
  (id) => (handle) => handle.putConversation(id, {}),
  (id) => (handle) => handle.upsertToolCall(id, { id: 'row-1' }),
  (id) => (handle) => handle.fork('c', id),
]

const withLimits: readonly ((limit: number) => Attempt)[] = [
  (limit) => (handle) => handle.streamEvents('c', { limit }),
  (limit) => (handle) => handle.listConversations({ limit }),
  (limit) => (handle) => handle.pendingInbox({ limit }),
  (limit) => (_, store) => store.dueWork({ agents: ['support'], limit }),
]

const withBounds: readonly ((bound: number) => Attempt)[] = [
  (after) => (handle) => handle.streamEvents('c', { after }),
  (before) => (handle) => handle.streamEvents('c', { before }),
  (expectedSeq) => (handle) => handle.commit('c', { events: [seeded(1)], expectedSeq }),
  (epoch) => (handle) => handle.commit('c', { events: [seeded(1)], epoch }),
  (inMs) => (handle) => handle.commit('c', { events: [seeded(1)], wakeAt: { inMs } }),
  (at) => (handle) => handle.fork('c', 'fork', { at }),
  (ttlMs) => (handle) => handle.gcModelCalls('c', ttlMs),
]

const withDurations: readonly ((ms: number) => Attempt)[] = [
  (ms) => (handle) => handle.scheduleExpiry('c', 'row-1', ms),
  (ms) => (handle) => handle.acquireLease('c', 'worker', ms),
  (ms) => (_, store) => store.renewLeases('worker', ms),
  (expiresInMs) => (handle) => handle.upsertToolCall('c', { id: 'row-1', expiresInMs }),
]

const withValues: readonly ((value: Json) => Attempt)[] = [
  (value) => (handle) => handle.appendEvent('c', seeded(value)),
  (value) => (handle) => handle.commit('c', { events: [seeded(1), seeded([{ deep: value }])] }),
  (value) => (handle) => handle.putSnapshot('c', [value]),
  (value) => (handle) => handle.putConversation('c', { settings: { value } }),
  (value) => (handle) => handle.upsertToolCall('c', { id: 'row-1', args: [value] }),
  (value) => (handle) => handle.resolveToolCall('row-1', 'resolved', { value }),
  (value) => (handle) => handle.putFsmState('c', { state: 'idle', pending: [value], lastSeq: 0 }),
]

const badEvents = [
  { type: 'from_the_future', content: {} },
  { type: '__proto__', content: {} },
  { type: 'titled', content: { title: 7 } },
  { type: 'user_msg', content: { turnId: '', message: { parts: [] }, options: {}, who: 'ann' } },
  { type: 'tool_result', content: { callId: 'c', ok: false, result: 1 } },
  { type: 'state_set', content: { patch: { todos: [] }, exposed: [], who: 'ann' } },
  { type: 'state_refused', content: { callId: '', reason: 'why' } },
  { type: 'resolution', content: { callId: 'c', round: 0, kind: 'approval', status: 'resolved', value: 1, who: 'a' } },
] as unknown as NewEvent[]

const withEvents: readonly ((event: NewEvent) => Attempt)[] = [
  (event) => (handle) => handle.appendEvent('c', event),
  (event) => (handle) => handle.commit('c', { events: [seeded(1), event] }),
]

const large: readonly Attempt[] = [
  (handle) => handle.appendEvent('c', seeded('x'.repeat(1024 * 1024))),
  (handle) => handle.commit('c', { events: [seeded(1), seeded('é'.repeat(524_288))] }),
]

function tried<T>(code: ErrorCode, values: readonly T[], attempts: readonly ((value: T) => Attempt)[]) {
  return fc
    .tuple(fc.nat({ max: values.length - 1 }), fc.nat({ max: attempts.length - 1 }))
    .map(([value, attempt]) => ({ code, attempt: attempts[attempt]!(values[value]!) }))
}

/** What makes no sense is refused alike everywhere, and leaves nothing behind: later commands would find it. */
export const refusalCommands = [
  command({
    name: 'refused',
    weight: 5,
    args: fc.record({
      ...atTenant,
      what: fc.oneof(
        { weight: 6, arbitrary: tried('invalid_id', badIds, withIds) },
        { weight: 1, arbitrary: tried('invalid_id', ['.', '..'], withNewIds) },
        { weight: 4, arbitrary: tried('invalid_argument', badLimits, withLimits) },
        { weight: 4, arbitrary: tried('invalid_argument', badBounds, withBounds) },
        { weight: 4, arbitrary: tried('invalid_argument', badDurations, withDurations) },
        { weight: 6, arbitrary: tried('invalid_value', [...badValues, cyclic] as Json[], withValues) },
        { weight: 4, arbitrary: tried('event_invalid', badEvents, withEvents) },
        { weight: 1, arbitrary: tried('event_too_large', large, [(attempt) => attempt]) },
      ),
    }),
    async run(world, { tenant, via, what }) {
      await world.act(
        () => what.attempt(world.handle(tenant, via), world.store(via)),
        () => {
          throw new Refused(what.code)
        },
      )
    },
  }),
]
