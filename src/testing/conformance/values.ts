import type { InvalidValueError } from '../../base/errors/log-errors.ts'
import type { Json } from '../../base/json.ts'
import { encode } from '../../log/codec.ts'
import type { EventOf, LogEvent } from '../../log/events.ts'
import type { Summary } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { carrying, fsmState, observe, resolution, toolCall, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function values({ describe, test, expect, refused }: Suite): void {
  describe('values', () => {
    for (const { name, prepare, write, read } of valueCarriers) {
      test(`every JSON value comes back unchanged from ${name}`, async ({ store }) => {
        for (const value of hostileValues) {
          await prepare?.(store)
          await write(store, value)
          for (const found of await read(store)) expect(encode(found)).toBe(encode(value))
        }
      })
    }

    for (const { name, path, prepare, write } of valueCarriers) {
      test(`${name} refuses what JSON cannot hold, and says where it is`, async ({ store }) => {
        await prepare?.(store)
        const before = await everything(store)
        for (const [what, make] of impossibleValues) {
          const value = { outer: [1, make()] } as never
          const error = await refused('invalid_value', () => write(store, value), `${what} in ${name}`)
          const found = (error as InvalidValueError).path
          expect([what, found.slice(0, path.length + 9)]).toEqual([what, `${path}.outer[1]`])
          expect(error.message.includes(`${path}.outer[1]`)).toBe(true)
        }
        expect(await everything(store)).toEqual(before)
      })
    }

    test('every text comes back unchanged as title, name, status and message', async ({ store }) => {
      const texts = hostileValues.filter((value) => typeof value === 'string')
      // A title has 1 to 1,000 characters.
      for (const text of texts.filter(({ length }) => length > 0 && length <= 1_000)) {
        await store.commit('chat', {
          events: [userMsg(text), { type: 'titled', content: { title: text } }],
          conversation: { title: text },
          calls: [{ id: 'call', name: text }],
        })
        await store.putModelCall('chat', { turnRef: 'turn', status: text })
        const [message, title] = await store.streamEvents('chat', { limit: 2 })
        const [pending] = await store.pendingInbox()
        const found = [
          (message as EventOf<'user_msg'>).content.message.parts[0],
          (title as EventOf<'titled'>).content.title,
          (await store.getConversation('chat'))!.title,
          (await store.listConversations())[0]!.title,
          pending!.title,
          pending!.name,
          (await store.getToolCall('call'))!.name,
          (await store.modelCalls('chat'))[0]!.status,
        ]
        expect(found).toEqual(found.map((_, index) => (index === 0 ? { type: 'text', text } : text)))
        await store.gcModelCalls('chat', 0)
        await store.deleteConversation('chat')
      }
    })

    test('a fork copies every value unchanged, also into the events it rewrites', async ({ store }) => {
      await store.commit('chat', {
        events: [
          userMsg(),
          ...hostileValues.flatMap((args, index) => [carrying(args), toolCall(`call-${index}`, { args })]),
        ],
        calls: hostileValues.map((args, index) => ({ id: `call-${index}`, args })),
      })
      await store.fork('chat', 'copy')
      const events = await store.streamEvents('copy')
      const carried = events.filter((event) => event.type === 'tool_result')
      const args = events.filter((event) => event.type === 'tool_call').map((event) => event.content.args)
      expect(carried.map((event) => encode((event.content as { result: Json }).result))).toEqual(
        hostileValues.map(text),
      )
      expect(args.map(text)).toEqual(hostileValues.map(text))
    })

    test('the winner of a stale answer comes back unchanged', async ({ store }) => {
      const callIds = hostileValues.map((_, index) => `call-${index}`)
      await Promise.all(callIds.map((id) => store.upsertToolCall('chat', { id })))
      await Promise.all(callIds.map((id, index) => store.resolveToolCall(id, 'resolved', hostileValues[index]!)))
      const winners = await Promise.all(
        callIds.map(async (callId) => {
          const resolve = [{ callId, round: 1, status: 'resolved', result: null }] as const
          const lost = await store.commit('chat', { events: [], resolve })
          return (lost as { winner?: EventOf<'resolution'> }).winner!.content.value
        }),
      )
      expect(winners.map(text)).toEqual(hostileValues.map(text))
    })
  })
}

function text(value: Json): string {
  return encode(value)
}

function everything(store: Store): Promise<unknown> {
  return observe(store, { ids: ['chat'], callIds: ['call'] })
}

/** JSON values that stores and codecs tend to change. */
export const hostileValues: readonly Json[] = [
  null,
  '',
  'null',
  '\u0000',
  'a\u0000b',
  '\\u0000',
  '\ud800',
  'x\udc00y',
  '\udc00\ud800',
  '😀 👩‍👩‍👧‍👦 🇩🇪',
  'é and e\u0301',
  '\u2028\u2029\ufeff\uffff',
  '\r\n\t\b\f\v\u001b\u007f',
  `'; DROP TABLE events; -- " \` $1 ? :name %s {}`,
  '\\',
  'x'.repeat(70_000),
  -0,
  0,
  [-0, { zero: -0 }],
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  1e21,
  0.1 + 0.2,
  true,
  false,
  [],
  {},
  [[], [[]], {}],
  { z: 1, a: 2, m: { z: 1, a: 2 } },
  { 10: 'ten', 9: 'nine', b: 'b', a: 'a' },
  JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1},"toString":2}') as Json,
  { '': 'empty', '\u0000': 'nul', '\ud800': 'lone', '😀': 'face', 'a.b[0]': 'path', '\'"': 'quote' },
  { blob: 'not a ref', mediaType: 'text/plain' },
  nested(400),
]

/** Values that JSON cannot hold. */
const impossibleValues: readonly [string, () => unknown][] = [
  ['undefined', () => undefined],
  ['NaN', () => Number.NaN],
  ['Infinity', () => Number.POSITIVE_INFINITY],
  ['a bigint', () => 1n],
  ['a function', () => () => {}],
  ['a symbol', () => Symbol('test')],
  ['a date', () => new Date(0)],
  ['a map', () => new Map()],
  ['bytes', () => new Uint8Array(1)],
  ['an instance of a class', () => new (class Thing {})()],
  ['an object with a symbol as key', () => ({ [Symbol('test')]: 1 })],
  ['a list with a hole', () => new Array(2)],
  ['something that contains itself', containsItself],
  ['something nested too deep', () => nested(600)],
]

function nested(levels: number): Json {
  let value: Json = 'bottom'
  for (let level = 0; level < levels; level++) value = level % 2 ? { down: value } : [value]
  return value
}

function containsItself(): unknown {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

/** A way to write JSON to the store, and the ways to read it again. */
type ValueCarrier = {
  readonly name: string
  /** The path that errors report for the value. */
  readonly path: string
  /** Creates what a write needs. */
  prepare?(store: Store): Promise<unknown>
  write(store: Store, value: Json): Promise<unknown>
  read(store: Store): Promise<Json[]>
}

const valueCarriers: readonly ValueCarrier[] = [
  {
    name: 'an appended event',
    path: 'content.result',
    write: (store, value) => store.appendEvent('chat', carrying(value)),
    read: async (store) => [
      resultOf((await store.streamEvents('chat', { limit: 1 }))[0]!),
      resultOf((await store.loadSince('chat')).events.at(-1)!),
    ],
  },
  {
    name: 'a committed event',
    path: 'content.result',
    write: (store, value) => store.commit('chat', { events: [userMsg(), carrying(value)] }),
    read: async (store) => [resultOf((await store.streamEvents('chat', { limit: 1 }))[0]!)],
  },
  {
    name: 'the options of a message',
    path: 'content.options.value',
    write: (store, value) => store.appendEvent('chat', userMsg('hello', 'turn-1', { value })),
    read: async (store) => {
      const [event] = await store.streamEvents('chat', { limit: 1 })
      return event?.type === 'user_msg' ? [event.content.options['value']!] : []
    },
  },
  ...(['args', 'prompt'] as const).map(
    (field): ValueCarrier => ({
      name: `the ${field} of a call`,
      path: field,
      write: (store, value) => store.upsertToolCall('chat', { id: 'call', [field]: value }),
      read: async (store) => [
        (await store.getToolCall('call'))![field],
        (await store.pendingToolCalls('chat'))[0]![field],
        (await store.pendingInbox())[0]![field],
      ],
    }),
  ),
  {
    name: 'the result of a call',
    path: 'result',
    write: (store, value) => store.upsertToolCall('chat', { id: 'call', status: 'resolved', result: value }),
    read: async (store) => [(await store.getToolCall('call'))!.result],
  },
  {
    name: 'the calls of a commit',
    path: 'args',
    write: (store, value) => store.commit('chat', { events: [userMsg()], calls: [{ id: 'call', args: value }] }),
    read: async (store) => [(await store.getToolCall('call'))!.args],
  },
  {
    name: 'an answer',
    path: 'result',
    prepare: (store) => store.upsertToolCall('chat', { id: 'call' }),
    write: (store, value) => store.resolveToolCall('call', 'resolved', value),
    read: async (store) => [
      (await store.getToolCall('call'))!.result,
      ((await store.streamEvents('chat', { limit: 1 }))[0] as { content: { value: Json } }).content.value,
    ],
  },
  {
    name: 'the answer of a commit',
    path: 'result',
    prepare: (store) => store.upsertToolCall('chat', { id: 'call' }),
    write: (store, value) =>
      store.commit('chat', {
        events: [resolution('call')],
        resolve: [{ callId: 'call', round: 1, status: 'resolved', result: value }],
      }),
    read: async (store) => [(await store.getToolCall('call'))!.result],
  },
  {
    name: 'settings',
    path: 'settings.value',
    write: (store, value) => store.putConversation('chat', { settings: { value } }),
    read: async (store) => [
      (await store.getConversation('chat'))!.settings['value']!,
      (await store.listConversations())[0]!.settings['value']!,
    ],
  },
  {
    name: 'the cached state',
    path: 'fsmState.pending',
    write: (store, value) => store.putFsmState('chat', fsmState('idle', 0, value)),
    read: async (store) => [(await store.getConversation('chat'))!.fsmState!.pending],
  },
  {
    name: 'the cached state of a commit',
    path: 'fsmState.pending',
    write: (store, value) => store.commit('chat', { events: [userMsg()], fsmState: fsmState('idle', 0, value) }),
    read: async (store) => [(await store.getConversation('chat'))!.fsmState!.pending],
  },
  {
    name: 'the content of a summary',
    path: 'content',
    prepare: (store) => store.appendEvent('chat', userMsg()),
    write: (store, value) => store.putSummary('chat', summary({ content: value })),
    read: async (store) => [
      (await store.latestSummary('chat'))!.content,
      (await store.loadSince('chat')).summary!.content,
    ],
  },
  {
    name: 'the base of a summary',
    path: 'base.seed',
    prepare: (store) => store.appendEvent('chat', userMsg()),
    write: (store, value) =>
      store.putSummary('chat', summary({ base: { lastSeq: 1, title: null, seed: value, turns: [] } })),
    read: async (store) => [(await store.latestSummary('chat'))!.base!.seed],
  },
  ...(['renderedContext', 'model', 'usage', 'evictions'] as const).map(
    (field): ValueCarrier => ({
      name: `the ${field} of a model call`,
      path: field,
      prepare: (store) => store.putConversation('chat', {}),
      write: (store, value) => store.putModelCall('chat', { turnRef: 'turn', [field]: value }),
      read: async (store) => [(await store.modelCalls('chat')).at(-1)![field]],
    }),
  ),
  {
    name: 'a snapshot',
    path: 'snapshot',
    write: (store, value) => store.putSnapshot('chat', value),
    read: async (store) => [await store.getSnapshot('chat')],
  },
]

function summary(part: Partial<Summary>): Summary {
  return { fromSeq: 1, toSeq: 1, content: null, version: 1, base: null, ...part }
}

function resultOf(event: LogEvent): Json {
  return (event.content as { result: Json }).result
}
