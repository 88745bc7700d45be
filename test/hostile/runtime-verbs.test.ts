import { afterEach, describe, expect, test } from 'vitest'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Inspection } from '../../src/runtime/read/inspect.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { overStores } from '../stories/over-stores.ts'
import { sessionVerbs } from './session-verbs.ts'
import { closeAll, none, onItem, options, type Started, start, type Table } from './started-runtime.ts'
import { type Attempt, tryHostile } from './try-hostile.ts'

afterEach(closeAll)

const conversationVerbs: Table<Conversation> = {
  send: ({ chat }) => [
    (hostile) => chat().send(hostile),
    (hostile) => chat().send([hostile]),
    (hostile) => chat().send({ parts: hostile }),
    (hostile) => chat().send([{ type: hostile, text: 'x' }]),
    (hostile) => chat().send([{ type: 'text', text: hostile }]),
    (hostile) => chat().send([{ type: 'file', mediaType: hostile, data: new Uint8Array(1) }]),
    (hostile) => chat().send([{ type: 'file', mediaType: 'text/plain', data: hostile }]),
    (hostile) => chat().send([{ type: 'file', mediaType: 'text/plain', data: new Uint8Array(1), filename: hostile }]),
    (hostile) => chat().send('x', hostile),
    (hostile) => chat().send('x', { key: hostile }),
    (hostile) => chat().send('x', { whenBusy: hostile }),
    (hostile) => chat().send('x', { output: hostile }),
    (hostile) => chat().send('x', { untilTool: hostile }),
    (hostile) => chat().send('x', { maxSteps: hostile }),
    (hostile) => chat().send('x', { maxTokens: hostile }),
    (hostile) => chat().send('x', { key: 'd', data: hostile, whenBusy: 'queue' }),
    (hostile) => chat().send('x', { key: 'k', output: { type: 'object', properties: hostile } }),
    (hostile) => chat().send('x', { replaces: hostile }),
    (hostile) => chat().send('x', { replaces: 'none', force: hostile }),
    (hostile) => chat().send('x', { replaces: 'none', whenBusy: hostile }),
  ],
  retry: ({ chat }) => [
    (hostile) => chat().retry(hostile),
    (hostile) => chat().retry('none', hostile),
    (hostile) => chat().retry('none', { key: hostile }),
    (hostile) => chat().retry('none', { force: hostile }),
  ],
  outcome: none,
  turn: ({ chat }) => [
    async (hostile) => chat().turn(hostile).outcome(),
    async (hostile) => {
      for await (const _ of chat().turn(hostile).textStream) break
    },
  ],
  rename: ({ waiting }) => [async (hostile) => (await waiting()).chat.rename(hostile)],
  cancel: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.cancel(hostile),
    async (hostile) => (await waiting()).chat.cancel({ turnId: hostile }),
    async (hostile) => (await waiting()).chat.cancel({ signal: hostile }),
  ],
  approve: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.approve(hostile),
    async (hostile) => (await waiting()).chat.approve({ callId: hostile }),
    onItem(waiting, (chat, item, hostile) => chat.approve({ callId: item.callId, round: hostile })),
    onItem(waiting, (chat, item, hostile) => chat.approve(item, hostile)),
    onItem(waiting, (chat, item, hostile) => chat.approve(item as never, { args: hostile })),
    onItem(waiting, (chat, item, hostile) => chat.approve(item as never, { args: { inner: hostile } as never })),
    onItem(waiting, (chat, item, hostile) => chat.approve(item, { key: hostile })),
    onItem(waiting, (chat, item, hostile) => chat.approve(item, { digest: hostile })),
    onItem(waiting, (chat, item, hostile) => chat.approve(item as never, { key: 'k', args: hostile })),
  ],
  deny: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.deny(hostile),
    async (hostile) => (await waiting()).chat.deny({ callId: hostile }),
    onItem(waiting, (chat, item, hostile) => chat.deny(item, hostile)),
    onItem(waiting, (chat, item, hostile) => chat.deny(item, { reason: hostile })),
    onItem(waiting, (chat, item, hostile) => chat.deny(item, { key: hostile })),
  ],
  extendDeadline: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.extendDeadline(hostile, { expiresInMs: 60_000 }),
    async (hostile) => (await waiting()).chat.extendDeadline({ callId: hostile }, { expiresInMs: 60_000 }),
    onItem(waiting, (chat, item, hostile) =>
      chat.extendDeadline({ callId: item.callId, round: hostile }, { expiresInMs: 60_000 }),
    ),
    onItem(waiting, (chat, item, hostile) => chat.extendDeadline(item, hostile)),
    onItem(waiting, (chat, item, hostile) => chat.extendDeadline(item, { expiresInMs: hostile })),
  ],
  note: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.note(hostile, null),
    async (hostile) => (await waiting()).chat.note('rated', hostile),
    async (hostile) => (await waiting()).chat.note('rated', { inner: hostile }),
  ],
  answer: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.answer(hostile, 1),
    async (hostile) => (await waiting()).chat.answer({ callId: hostile }, 1),
    async (hostile) => {
      const { chat, item } = await waiting('ask')
      return chat.answer(item, hostile)
    },
    async (hostile) => {
      const { chat, item } = await waiting('ask')
      return chat.answer(item, { inner: [hostile] })
    },
    async (hostile) => {
      const { chat, item } = await waiting('ask')
      return chat.answer(item, 1, hostile)
    },
    async (hostile) => {
      const { chat, item } = await waiting('ask')
      return chat.answer(item, 1, { key: hostile })
    },
    async (hostile) => {
      const { chat, item } = await waiting('ask')
      return chat.answer(item, hostile, { key: 'k' })
    },
  ],
  state: none,
  setState: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.setState(hostile),
    async (hostile) => (await waiting()).chat.setState({ list: hostile }),
    async (hostile) => (await waiting()).chat.setState({ [String(typeof hostile)]: hostile }),
    async (hostile) => (await waiting()).chat.setState(() => hostile),
    async (hostile) => (await waiting()).chat.setState({ list: [] }, hostile),
    async (hostile) => (await waiting()).chat.setState({ list: [] }, { key: hostile }),
  ],
  view: ({ chat }) => [(hostile) => chat().view(hostile), (hostile) => chat().view({ maxBytes: hostile })],
  history: ({ chat }) => options((page) => chat().history(page), 'before', 'limit', 'maxBytes'),
  events: ({ chat }) => options((range) => chat().events(range), 'after', 'before', 'limit', 'maxBytes', 'keep'),
  watch: ({ chat }) => {
    const first = async (options: never) => {
      const conversation = chat()
      await conversation.send('x')
      for await (const event of conversation.watch(options)) return event
      return null
    }
    return [
      (hostile) => first(hostile),
      (hostile) => first({ after: hostile } as never),
      (hostile) => first({ signal: hostile } as never),
      (hostile) => first({ maxBuffered: hostile } as never),
      (hostile) => first({ maxBufferedBytes: hostile } as never),
    ]
  },
  modelCalls: ({ chat }) => options((range) => chat().modelCalls(range), 'from', 'maxBytes'),
  explain: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.explain(hostile),
    async (hostile) => (await waiting()).chat.explain({ evictions: hostile }),
    async (hostile) => (await waiting()).chat.explain({ evictions: [hostile] as never }),
  ],
  fork: ({ waiting }) => [
    async (hostile) => (await waiting()).chat.fork(hostile),
    async (hostile) => (await waiting()).chat.fork({ at: hostile }),
    async (hostile) => (await waiting()).chat.fork({ id: hostile }),
    async (hostile) => (await waiting()).chat.fork({ agent: hostile }),
  ],
  forks: ({ chat }) => options((page) => chat().forks(page), 'before', 'limit'),
  lineage: ({ chat }) => [(hostile) => chat().lineage(hostile), (hostile) => chat().lineage({ limit: hostile })],
  continue: none,
  detach: none,
  delete: none,
}

const runtimeVerbs: Table<Runtime> = {
  bulk: ({ runtime }) => [
    (hostile) => runtime.bulk.count(hostile),
    (hostile) => runtime.bulk.count({ action: hostile }),
    (hostile) => runtime.bulk.count({ action: 'cancel', filter: hostile }),
    (hostile) => runtime.bulk.count({ action: 'cancel', filter: { status: hostile } }),
    (hostile) => runtime.bulk.count({ action: 'cancel', filter: { text: hostile } }),
    (hostile) => runtime.bulk.count({ action: 'cancel', filter: { olderThanMs: hostile } }),
    (hostile) => runtime.bulk.count({ action: 'retry', filter: { ended: hostile } }),
    (hostile) => runtime.bulk.start(hostile),
    (hostile) => runtime.bulk.start({ action: 'cancel', id: hostile }),
    (hostile) => runtime.bulk.start({ action: 'cancel', who: hostile }),
    (hostile) => runtime.bulk.start({ action: 'cancel', tenant: hostile }),
    (hostile) => runtime.bulk.start({ action: 'retry', force: hostile }),
    (hostile) => runtime.bulk.start({ action: 'cancel', perSecond: hostile }),
    (hostile) => runtime.bulk.list(hostile),
    (hostile) => runtime.bulk.get(hostile),
    (hostile) => runtime.bulk.stop(hostile),
  ],
  preflight: ({ runtime }) => [
    (hostile) => runtime.preflight(hostile),
    (hostile) => runtime.preflight({ tenant: hostile }),
    (hostile) => runtime.preflight({ limit: hostile }),
    (hostile) => runtime.preflight({ after: hostile }),
    (hostile) => runtime.preflight({ migrateState: hostile }),
  ],
  subscribers: () => [],
  nodes: () => [],
  work: ({ runtime }) => [
    (hostile) => runtime.work(hostile),
    (hostile) => runtime.work({ state: hostile }),
    (hostile) => runtime.work({ agent: hostile }),
    (hostile) => runtime.work({ limit: hostile }),
    (hostile) => runtime.work({ after: hostile }),
    (hostile) => runtime.work({ after: { tenant: hostile, id: 'c', at: 1 } }),
    (hostile) => runtime.work({ after: { tenant: 't', id: 'c', at: hostile } }),
  ],
  drain: ({ runtime }) => [
    (hostile) => runtime.drain(hostile),
    (hostile) => runtime.drain('node', hostile),
    (hostile) => runtime.drain('node', { who: hostile }),
    (hostile) => runtime.drain('node', { reason: hostile }),
    (hostile) => runtime.drain('node', { drainMs: hostile }),
  ],
  undrain: ({ runtime }) => [
    (hostile) => runtime.undrain(hostile),
    (hostile) => runtime.undrain('node', hostile),
    (hostile) => runtime.undrain('node', { who: hostile }),
  ],
  pause: ({ runtime }) => [
    (hostile) => runtime.pause(hostile),
    (hostile) => runtime.pause({ agent: hostile }),
    (hostile) => runtime.pause({ tenant: hostile }),
    (hostile) => runtime.pause({ conversation: hostile }),
    (hostile) => runtime.pause({ agent: 'unused' }, hostile),
    (hostile) => runtime.pause({ agent: 'unused' }, { who: hostile }),
    (hostile) => runtime.pause({ agent: 'unused' }, { reason: hostile }),
  ],
  resume: ({ runtime }) => [
    (hostile) => runtime.resume(hostile),
    (hostile) => runtime.resume({ agent: hostile }),
    (hostile) => runtime.resume({ agent: 'unused' }, hostile),
  ],
  pauses: ({ runtime }) => options((page) => runtime.pauses(page), 'before', 'limit'),
  steeringActs: ({ runtime }) => options((page) => runtime.steeringActs(page), 'before', 'limit'),
  failedDeliveries: ({ runtime }) => [
    (hostile) => runtime.failedDeliveries(hostile),
    (hostile) => runtime.failedDeliveries({ subscriber: hostile }),
    (hostile) => runtime.failedDeliveries({ before: hostile }),
    (hostile) => runtime.failedDeliveries({ limit: hostile }),
  ],
  retryDeliveries: ({ runtime }) => [
    (hostile) => runtime.retryDeliveries(hostile),
    (hostile) => runtime.retryDeliveries([hostile]),
  ],
  discardDeliveries: ({ runtime }) => [
    (hostile) => runtime.discardDeliveries(hostile),
    (hostile) => runtime.discardDeliveries([hostile]),
  ],
  removeSubscriber: ({ runtime }) => [(hostile) => runtime.removeSubscriber(hostile)],
  deleteTenant: ({ runtime }) => [(hostile) => runtime.deleteTenant(hostile)],
  signedFiles: ({ runtime }) => [(hostile) => runtime.signedFiles.open('c', '0'.repeat(64), hostile)],
  signedStates: ({ runtime }) => [async (hostile) => runtime.signedStates.isSigned('text', hostile)],
  agents: none,
  conversation: ({ runtime }) => [
    (hostile) => runtime.conversation(hostile, { agent: 'clerk' }).send('x'),
    (hostile) => runtime.conversation(hostile).view(),
    (hostile) => runtime.conversation(hostile).outcome(),
    (hostile) => runtime.conversation(hostile).continue(),
    (hostile) => runtime.conversation(hostile).detach(),
    (hostile) => runtime.conversation(hostile).delete(),
    (hostile) => runtime.conversation(hostile).lineage(),
    (hostile) => runtime.conversation(hostile).modelCalls(),
    (hostile) => runtime.conversation('new', hostile).send('x', { whenBusy: 'queue' }),
    (hostile) => runtime.conversation('new', { agent: hostile }).send('x', { whenBusy: 'queue' }),
  ],
  flow: ({ runtime }) => [
    (hostile) => runtime.flow(hostile, 's').status(),
    (hostile) => runtime.flow({ name: hostile, version: 1 } as never, 's').status(),
    (hostile) => runtime.flow({ name: 'order', version: hostile } as never, 's').status(),
    (hostile) => runtime.flow('order', hostile).start(1),
    (hostile) => runtime.flow('order', hostile).status(),
    (hostile) => runtime.flow('order', hostile).delete(),
  ],
  resolve: ({ runtime, waiting, suspended, question }) => [
    (hostile) => runtime.resolve(hostile, 'x', true),
    async (hostile) => runtime.resolve((await waiting()).chat.id, hostile, true),
    async (hostile) => runtime.resolve((await waiting()).chat.id, { callId: hostile }, true),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, hostile)),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, { approved: hostile })),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, { approved: true, args: hostile })),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, { approved: false, reason: hostile })),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, true, hostile)),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, true, { key: hostile })),
    onItem(waiting, (chat, item, hostile) => runtime.resolve(chat.id, item, true, { digest: hostile })),
    async (hostile) => {
      const { chat, item } = await waiting('ask')
      return runtime.resolve(chat.id, item, hostile)
    },
    async (hostile) => runtime.resolve((await suspended()).id, await question(), hostile),
    async (hostile) => runtime.resolve((await suspended()).id, await question(), 1, { key: hostile }),
  ],
  conversations: ({ runtime }) =>
    options((filter) => runtime.conversations(filter), 'status', 'agent', 'forkOf', 'before', 'limit', 'maxBytes'),
  sessions: ({ runtime }) =>
    options((filter) => runtime.sessions(filter), 'flow', 'status', 'before', 'limit', 'maxBytes'),
  flows: none,
  unquarantine: ({ runtime }) => [(hostile) => runtime.unquarantine(hostile)],
  totals: ({ runtime }) => [(hostile) => runtime.totals(hostile), (hostile) => runtime.totals({ owner: hostile })],
  changes: ({ runtime }) => [
    (hostile) => runtime.changes().changes.since(hostile, 1),
    (hostile) => runtime.changes().changes.rows([hostile]),
  ],
  inbox: ({ runtime }) => options((page) => runtime.inbox(page), 'before', 'limit', 'maxBytes'),
  inspect: ({ runtime }) => [
    (hostile) => runtime.inspect(hostile).record(),
    (hostile) => runtime.inspect(hostile).turns(),
    (hostile) => runtime.inspect(hostile).snapshot(),
  ],
  as: ({ runtime }) => [
    (hostile) => runtime.as(hostile).conversations(),
    (hostile) => runtime.as(hostile).inbox(),
    (hostile) => runtime.as(hostile).conversation('c', { agent: 'clerk' }).send('x', { whenBusy: 'queue' }),
    (hostile) =>
      runtime
        .as({ user: hostile } as never)
        .conversation('c', { agent: 'clerk' })
        .send('x', { whenBusy: 'queue' }),
    (hostile) =>
      runtime
        .as({ tenant: hostile } as never)
        .conversation('c', { agent: 'clerk' })
        .send('x', { whenBusy: 'queue' }),
    (hostile) =>
      runtime
        .as({ system: hostile } as never)
        .conversation('c', { agent: 'clerk' })
        .send('x', { whenBusy: 'queue' }),
  ],
  readiness: none,
  close: () => [(hostile) => start().runtime.close(hostile), (hostile) => start().runtime.close({ drainMs: hostile })],
}

const inspectVerbs: Table<Inspection> = {
  record: none,
  waitsFor: none,
  work: none,
  modelCalls: ({ runtime }) => [
    (hostile) => runtime.inspect('c').modelCalls(hostile),
    (hostile) => runtime.inspect('c').modelCalls({ skip: hostile }),
  ],
  explain: ({ runtime }) => [
    (hostile) => runtime.inspect('c').explain(hostile),
    (hostile) => runtime.inspect('c').explain('t/0', hostile),
    (hostile) => runtime.inspect('c').explain('t/0', { after: hostile }),
    (hostile) => runtime.inspect('c').explain('t/0', { limit: hostile }),
  ],
  snapshot: none,
  turns: ({ runtime }) => options((page) => runtime.inspect('c').turns(page), 'before', 'limit', 'maxBytes'),
  pages: ({ runtime }) => {
    const all = async (range: never, options?: never) => {
      for await (const { events } of runtime.inspect('c').pages(range, options)) for (const _ of events) break
    }
    return [
      (hostile) => all(hostile),
      (hostile) => all({ after: hostile } as never),
      (hostile) => all({ before: hostile } as never),
      (hostile) => all({} as never, hostile),
    ]
  },
  file: ({ runtime }) => [(hostile) => runtime.inspect('c').file(hostile)],
}

/** Made afresh, so that what the table lacks fails the test. */
const surfaces = {
  runtime: [runtimeVerbs, ({ runtime }: Started): object => runtime],
  conversation: [conversationVerbs, ({ chat }: Started): object => chat()],
  session: [sessionVerbs, ({ session }: Started): object => session()],
  inspection: [inspectVerbs, ({ runtime }: Started): object => runtime.inspect('c')],
} as const

describe('whatever a verb is given, it succeeds or fails with a code, and the process lives', () => {
  for (const [name, [table, surface]] of Object.entries(surfaces)) {
    test(`${name}: every verb is tried`, () => {
      const members = Object.keys(surface(start())).filter((member) => member !== 'id' && member !== 'ref')
      expect(Object.keys(table).toSorted()).toEqual(members.toSorted())
    })
    for (const [verb, attempts] of Object.entries<(started: Started) => Attempt[]>(table)) {
      if (attempts === none) continue
      test(`${name}: ${verb}`, () => tryVerb(attempts, start()), 300_000)
    }
  }
})

/** What these write is in rows and events of their own, which each store keeps in its own way. */
overStores('the verbs that write into a log beside turns, given anything,', (story) => {
  const { note, rename, extendDeadline, setState } = conversationVerbs
  const { start: begin, resume, fork } = sessionVerbs
  const { sessions, deleteTenant } = runtimeVerbs
  const verbs = { note, rename, extendDeadline, setState, begin, resume, fork, sessions, deleteTenant }
  for (const [verb, attempts] of Object.entries<(started: Started) => Attempt[]>(verbs))
    test(`succeed or fail with a code, and the conversation goes on: ${verb}`, async () => {
      await tryVerb(attempts, start(story.openStore()))
    }, 300_000)
})

async function tryVerb(attempts: (started: Started) => Attempt[], started: Started): Promise<void> {
  expect(await tryHostile(attempts(started))).toEqual([])
  const outcome = await (await started.chat().send('still here?')).outcome()
  expect(outcome.status).toBe('waiting')
}
