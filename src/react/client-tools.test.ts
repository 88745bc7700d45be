import { beforeEach, expect, test, vi } from 'vitest'
import { InvalidAnswerError } from '../base/errors/definition-errors.ts'
import type { RemoteConversation } from '../client/conversation.ts'
import type { PendingItem } from '../view/view.ts'
import { type ClientToolCall, ClientTools } from './client-tools.ts'
import { type ConversationSnapshot, type ConversationStore, noConversation } from './conversation-store.ts'
import { LiveStore } from './live-store.ts'
import { Tab } from './tab.ts'

const saved = new Map<string, string>()
beforeEach(() => {
  saved.clear()
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => saved.get(name) ?? null,
    setItem: (name: string, value: string) => void saved.set(name, value),
    removeItem: (name: string) => void saved.delete(name),
  })
  vi.stubGlobal('navigator', {})
  return () => vi.unstubAllGlobals()
})

test('a call runs once, however often it is seen, and its result is the answer', async () => {
  const run = vi.fn(() => ({ latitude: 48 }))
  const { show, answers } = world({ locate: run })
  show([call('1'), call('2', 'elsewhere')])
  show([call('1')])
  await vi.waitFor(() => expect(answers).toEqual([['1', { ok: true, result: { latitude: 48 } }]]), { timeout: 20_000 })
  expect(run).toHaveBeenCalledTimes(1)
  expect(run).toHaveBeenCalledWith({ accuracy: 'city' }, expect.objectContaining({ callId: '1' }))
  expect(saved.size).toBe(0)
})

test('what a function throws, and a result that does not fit, are errors of the call', async () => {
  const { show, answers } = world({
    locate: ({ accuracy }: { accuracy: string }) => {
      if (accuracy === 'city') throw new Error('no signal')
      return 'misfit'
    },
  })
  show([call('1'), { ...call('2'), args: { accuracy: 'street' } }])
  await vi.waitFor(() => expect(answers).toHaveLength(3), { timeout: 20_000 })
  expect(answers).toContainEqual(['1', { ok: false, error: 'no signal' }])
  expect(answers.at(-1)).toEqual(['2', { ok: false, error: expect.stringContaining('misfit') }])
})

test('a call that is answered elsewhere aborts the function, whose result is dropped', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const signals: AbortSignal[] = []
  const { show, answers } = world({
    locate: (_: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal)
      return promise
    },
  })
  show([call('1')])
  await vi.waitFor(() => expect(signals).toHaveLength(1), { timeout: 20_000 })
  show([])
  expect(signals[0]!.aborted).toBe(true)
  resolve('late')
  await new Promise((done) => setTimeout(done, 10))
  expect(answers).toEqual([])
})

test('a result that a reload left behind is sent, and the function does not run again', async () => {
  const name = 'perdure:call:["c","1",1]'
  saved.set(name, JSON.stringify({ key: 'k', answer: { ok: true, result: 7 } }))
  const run = vi.fn()
  const { show, answers } = world({ locate: run })
  show([call('1')])
  await vi.waitFor(() => expect(answers).toEqual([['1', { ok: true, result: 7 }]]), { timeout: 20_000 })
  expect(run).not.toHaveBeenCalled()
})

test('a call that another tab of the browser has answered meanwhile is not run', async () => {
  const request = async (
    _: string,
    { ifAvailable }: { ifAvailable?: true },
    work: (lock: unknown) => Promise<unknown>,
  ) => work(ifAvailable ? null : {})
  vi.stubGlobal('navigator', { locks: { request } })
  const run = vi.fn()
  const { show, viewed } = world({ locate: run })
  show([call('1')])
  await vi.waitFor(() => expect(viewed).toHaveBeenCalled(), { timeout: 20_000 })
  expect(run).not.toHaveBeenCalled()
})

function call(callId: string, tool = 'locate'): PendingItem {
  const item = { conversationId: 'c', callId, round: 1, kind: 'client_exec', tool, args: { accuracy: 'city' } }
  return item as unknown as PendingItem
}

function world(tools: { readonly [name: string]: (args: never, call: ClientToolCall) => unknown }) {
  const live = new LiveStore<ConversationSnapshot>(new Tab({}), noConversation, () => () => {})
  const answers: unknown[] = []
  const answer = async ({ callId }: PendingItem, value: { result?: unknown }) => {
    answers.push([callId, value])
    if (value.result === 'misfit') throw new InvalidAnswerError('answer', "'misfit' is not an object")
    return { accepted: true }
  }
  const viewed = vi.fn(async () => ({ pending: [] }))
  const handle = { answer, view: viewed } as unknown as RemoteConversation
  new ClientTools({ live } as unknown as ConversationStore, handle, () => tools).start()
  const show = (pending: PendingItem[]): void =>
    live.set({ ...noConversation, view: { pending } as unknown as ConversationSnapshot['view'] })
  return { show, answers, viewed }
}
