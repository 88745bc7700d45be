import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ServerUnreachableError } from '../base/errors/server-errors.ts'
import type { RemoteConversation, RemoteSendOptions } from '../client/conversation.ts'
import type { Client } from '../client/create-client.ts'
import { defineAgent } from '../define/define-agent.ts'
import { createRuntime } from '../runtime/create-runtime.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import type { WatchEvent } from '../view/growing-view.ts'
import type { View, ViewMessage } from '../view/view.ts'
import { ConversationStore } from './conversation-store.ts'
import { conversationVerbs } from './conversation-verbs.ts'
import type { Follower, Link } from './link.ts'
import { Tab } from './tab.ts'

let events: WatchEvent[] = []

/** The snapshot and the events of two turns, the second with text in pieces. */
beforeEach(async () => {
  const model = scriptedModel(({ n }) => (n === 1 ? 'Hello.' : { text: ['one ', 'two ', 'three'], delayMs: 1 }))
  const runtime = createRuntime({ agents: [defineAgent({ name: 'a', model })], store: memoryStore() })
  const chat = runtime.conversation('c', { agent: 'a' })
  await (await chat.send('hi')).outcome()
  events = []
  const stop = new AbortController()
  const watching = (async () => {
    for await (const event of chat.watch({ signal: stop.signal })) events.push(event)
  })()
  await vi.waitFor(() => expect(events).not.toEqual([]), { timeout: 20_000 })
  await (await chat.send('count')).outcome()
  await vi.waitFor(() => expect(events.some(({ type }) => type === 'turn_ended')).toBe(true), { timeout: 20_000 })
  stop.abort()
  await watching
  await runtime.close()
  vi.useFakeTimers()
})
afterEach(() => void vi.useRealTimers())

test('an event makes new objects of what it changed, and text of nothing but its draft', () => {
  const { store, take } = world()
  take(0, 1)
  const first = store.live.value.messages
  const at = events.findIndex(({ type }) => type === 'text_delta')
  take(1, at + 1)
  const [before, settled] = [store.live.value, store.settled.value]
  expect(before.messages.slice(0, 2).every((message, index) => message === first[index])).toBe(true)
  take(at + 1, at + 2)
  expect(store.live.value.view?.drafts[0]?.parts[0]?.text).toBe('one two ')
  expect(store.live.value.messages).toBe(before.messages)
  expect(store.live.value.view?.pending).toBe(before.view?.pending)
  expect(store.settled.value).toBe(settled)
  take(at + 2, events.length)
  expect(store.settled.value.messages).toHaveLength(4)
  expect(store.live.value.messages[0]).toBe(first[0])
})

test('a snapshot after a lost connection makes no new objects of what is the same', () => {
  const { store, take, follower, told } = world()
  take(0, events.length)
  const { messages, view } = store.live.value
  follower().onDisconnect(new ServerUnreachableError('down'))
  expect(store.live.value.status).toBe('reconnecting')
  follower().onConnect()
  follower().onEvent({ type: 'snapshot', view: structuredClone(view!) }, '9')
  told()
  expect(store.live.value.status).toBe('live')
  expect(store.live.value.messages).toBe(messages)
})

test('older messages stay in front of those of the view, also when the view drops its first', async () => {
  const older = [message(-2), message(-1)]
  const history = vi.fn(async () => ({ messages: older, notes: [], before: null }))
  const { store, take, follower, told } = world({ history })
  take(0, events.length)
  const view = store.live.value.view!
  const long: View = { ...view, before: 1 }
  follower().onEvent({ type: 'snapshot', view: long }, '9')
  told()
  expect(store.live.value.hasOlder).toBe(true)
  await store.loadOlder()
  expect(history).toHaveBeenCalledWith({ before: 1 })
  expect(seqsOf(store)).toEqual([-2, -1, ...view.messages.map(({ seq }) => seq)])
  expect(store.live.value.hasOlder).toBe(false)
  follower().onEvent({ type: 'snapshot', view: { ...long, messages: view.messages.slice(2) } }, '10')
  told()
  expect(seqsOf(store)).toEqual([-2, -1, ...view.messages.map(({ seq }) => seq)])
  // A view that does not meet what was there leaves a gap, so only the view is shown.
  follower().onEvent({ type: 'snapshot', view: { ...long, messages: [message(500)] } }, '11')
  told()
  expect(seqsOf(store)).toEqual([500])
})

test('a message is on its way until it is recorded and shown; a lost acknowledgement is asked for with the same key', async () => {
  const { store, take } = world()
  take(0, 1)
  const keys: (string | undefined)[] = []
  const send = async (_: unknown, options?: RemoteSendOptions) => {
    keys.push(options?.key)
    if (keys.length === 1) throw new ServerUnreachableError('its acknowledgement was lost')
    return { turnId: 'another' }
  }
  const verbs = conversationVerbs(store, { send } as unknown as RemoteConversation)
  const sent = verbs.send('hi')
  expect(store.live.value.sending).toMatchObject([{ message: 'hi' }])
  await vi.advanceTimersByTimeAsync(400)
  expect(keys).toHaveLength(2)
  expect(keys[0]).toBe(keys[1])
  expect(store.live.value.sending).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await sent).toEqual({ turnId: 'another' })
  expect(store.live.value.sending).toEqual([])
})

test('what the server refuses is not sent again', async () => {
  const { store } = world()
  const send = vi.fn(async () => Promise.reject(new Error('no')))
  const verbs = conversationVerbs(store, { send } as unknown as RemoteConversation)
  await expect(verbs.send('hi')).rejects.toThrow('no')
  expect(send).toHaveBeenCalledTimes(1)
  expect(store.live.value.sending).toEqual([])
})

const seqsOf = (store: ConversationStore): number[] => store.live.value.messages.map(({ seq }) => seq)
const message = (seq: number): ViewMessage =>
  ({ role: 'user', turnId: `t${seq}`, seq, parts: [] }) as unknown as ViewMessage

function world(verbs: object = {}) {
  let follower: Follower | null = null
  const link = {
    client: { conversation: () => verbs } as unknown as Client,
    tab: new Tab({}),
    follow: (_: string, __: string | null, given: Follower) => {
      follower = given
      return () => {}
    },
    retry: () => {},
  }
  const store = new ConversationStore(link as unknown as Link, 'c')
  store.live.subscribe(() => {})
  const told = (): void => void vi.advanceTimersByTime(60)
  const take = (from: number, to: number): void => {
    for (const event of events.slice(from, to)) follower!.onEvent(event, null)
    told()
  }
  return { store, take, told, follower: () => follower! }
}
