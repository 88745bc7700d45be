import type { Json } from '../../base/json.ts'
import type { LogEvent } from '../../log/events.ts'
import type { Store } from '../../store/store.ts'
import type { Summary } from '../../store/summary.ts'
import { carrying, fsmState, resolution, userMsg } from './event-builders.ts'

/** A way for JSON into the store and the ways it is read again. */
export type ValueCarrier = {
  readonly name: string
  /** Where an error says that the value is. */
  readonly path: string
  /** Makes what must be there for a write. */
  prepare?(store: Store): Promise<unknown>
  write(store: Store, value: Json): Promise<unknown>
  read(store: Store): Promise<Json[]>
}

export const valueCarriers: readonly ValueCarrier[] = [
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
