import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { defineAgent } from '../define/define-agent.ts'
import { defineFlow } from '../define/define-flow.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { createRuntime } from './create-runtime.ts'

const agents = [defineAgent({ name: 'support', model: scriptedModel(() => 'Hello.') })]
const flow = defineFlow({ name: 'f', version: 1, run: async (flow) => flow.suspend('wait') })
const settings = { agents, flows: [flow], logger: silentLogger }
const store = memoryStore()
const runtime = createRuntime({ ...settings, store })
const chat = runtime.conversation('chat', { agent: 'support' })
const session = runtime.flow('f', 'session')

beforeAll(async () => {
  await (await chat.send('Hi')).outcome()
  await session.start(null)
})
afterAll(() => runtime.close())

/** What is refused, and how the message begins. */
type Refusal = readonly [begins: string, ask: () => unknown]

const notAnObject = "'options' must be an object, not 7"
const odd = 7 as never
const made: { close(): Promise<void> }[] = []
const create = (options: object) => made.push(createRuntime({ ...settings, store, work: false, ...options }))
afterAll(async () => {
  for (const one of made) await one.close()
})

const refusals: readonly Refusal[] = [
  ["'leaseMs' must be a whole number of at least 1, not 0", () => create({ leaseMs: 0 })],
  ["'pollMs' must be a whole number of at least 1, not 0", () => create({ pollMs: 0 })],
  ["'persistTimeoutMs' must be a whole number of at least 1, not 0", () => create({ persistTimeoutMs: 0 })],
  ["'maxConcurrentTurns' must be a whole number of at least 1, not 0", () => create({ maxConcurrentTurns: 0 })],
  [notAnObject, () => runtime.close(odd)],
  ["'drainMs' must be a whole number of at least 0, not -1", () => runtime.close({ drainMs: -1 })],
  ["'scope' must be an object that says who acts, not 7", () => runtime.as(odd)],
  ['The conversation id is empty', () => runtime.conversation('')],
  [notAnObject, () => runtime.conversation('chat', odd)],
  ['The agent is empty', () => runtime.conversation('chat', { agent: '' as never })],
  ['The session id is empty', () => runtime.flow('f', '')],
  ["'flow' must be a flow or the name of one", () => runtime.flow({} as never, 's')],
  ['The conversation id is empty', () => runtime.resolve('', 'c1', true)],
  ["'call' must be an object, not 7", () => runtime.resolve('chat', odd, true)],
  ['The call id is undefined, not a string', () => runtime.resolve('chat', {} as never, true)],
  [
    "'round' must be a whole number of at least 1, not 0",
    () => runtime.resolve('chat', { callId: 'c1', round: 0 }, true),
  ],
  ['The conversation id is empty', () => runtime.inspect('')],
  ["'filter' must be an object, not 7", () => runtime.conversations(odd)],
  ["'page' must be an object, not 7", () => runtime.inbox(odd)],
  [notAnObject, () => chat.send('Hi', odd)],
  ['The key is empty', () => chat.send('Hi', { key: '' })],
  [
    "'whenBusy' must be one of reject, queue, interrupt, steer, not wait",
    () => chat.send('Hi', { whenBusy: 'wait' as never }),
  ],
  ["'message' is empty; send some text or a file", () => chat.send(' ')],
  ["'message' must be text, or a list of text and file parts", () => chat.send(odd)],
  ["'message part 0' must be", () => chat.send([{ type: 'audio' }] as never)],
  [
    "'message' has 10001 parts; the limit is 10000",
    () => chat.send(Array.from({ length: 10_001 }, () => ({ type: 'text', text: 'a' })) as never),
  ],
  ['The turn id is empty', () => chat.turn('')],
  [notAnObject, () => chat.cancel(odd)],
  ['The turn id is empty', () => chat.cancel({ turnId: '' })],
  ["'signal' must be an AbortSignal, not 7", () => chat.cancel({ signal: odd })],
  [notAnObject, () => chat.approve('c1', odd)],
  [notAnObject, () => chat.deny('c1', odd)],
  ["'reason' must be a string", () => chat.deny('c1', { reason: odd })],
  ['The call id is empty', () => chat.answer('', 1)],
  ["'page' must be an object, not 7", () => chat.history(odd)],
  ["'before' must be a whole number of at least 0, not -1", () => chat.history({ before: -1 })],
  ["'limit' must be a whole number of at least 1, not 0", () => chat.history({ limit: 0 })],
  ["'range' must be an object, not 7", () => chat.events(odd)],
  ["'model call' must be an object, not 7", () => chat.explain(odd)],
  [notAnObject, () => chat.watch(odd)[Symbol.asyncIterator]().next()],
  [
    "'after' must be a whole number of at least 0, not -1",
    () => chat.watch({ after: -1 })[Symbol.asyncIterator]().next(),
  ],
  ["'signal' must be an AbortSignal, not 7", () => chat.watch({ signal: odd })[Symbol.asyncIterator]().next()],
  [
    "'maxBuffered' must be a whole number of at least 1, not 0",
    () => chat.watch({ maxBuffered: 0 })[Symbol.asyncIterator]().next(),
  ],
  [notAnObject, () => chat.fork(odd)],
  ["'at' must be a whole number of at least 0, not -1", () => chat.fork({ at: -1 })],
  ['The new conversation id is empty', () => chat.fork({ id: '' })],
  ['The agent is empty', () => chat.fork({ agent: '' as never })],
  ["'agent' must be an object, not null", () => chat.fork({ agent: null as never })],
  ["'page' must be an object, not 7", () => chat.forks(odd)],
  [notAnObject, () => session.start(null, odd)],
  ['The key is empty', () => session.start(null, { key: '' })],
  ["'signal' must be an AbortSignal, not 7", () => session.start(null, { signal: odd })],
  ["'input' cannot be recorded", () => session.start((() => {}) as never)],
  [notAnObject, () => session.resume(1, odd)],
  ['The key is empty', () => session.resume(1, { key: '' })],
  ["'seq' must be a whole number of at least 1, not 0", () => session.resume(1, { seq: 0 })],
  ["'signal' must be an AbortSignal, not 7", () => session.resume(1, { signal: odd })],
  [notAnObject, () => session.continue(odd)],
  [notAnObject, () => session.fork('copy', odd)],
  ["'page' must be an object, not 7", () => session.forks(odd)],
]

test('what a runtime refuses is named', async () => {
  for (const [begins, ask] of refusals) {
    const told = await (async () => ask())().then(
      () => 'it was taken',
      (error: Error) => error.message,
    )
    expect([begins, told.slice(0, begins.length)]).toEqual([begins, begins])
  }
})

test('a runtime that is closed refuses all that would change something, and still reads', async () => {
  const closed = createRuntime({ ...settings, store })
  await closed.close()
  const [talk, work] = [closed.conversation('chat', { agent: 'support' }), closed.flow('f', 'session')]
  const changing: (() => Promise<unknown>)[] = [
    () => talk.send('Hi'),
    () => talk.cancel(),
    () => talk.approve('c1'),
    () => talk.deny('c1'),
    () => talk.answer('c1', 1),
    () => talk.fork(),
    () => talk.continue(),
    () => talk.delete(),
    () => work.start(null),
    () => work.resume(1),
    () => work.fork('copy'),
    () => work.continue(),
    () => work.delete(),
  ]
  for (const change of changing) await expect(change()).rejects.toMatchObject({ code: 'runtime_closed' })
  expect((await talk.view()).messages).toHaveLength(2)
  expect((await talk.history()).messages).toHaveLength(2)
  expect(await work.status()).toBe('waiting')
})
