import { describe, expect, test } from 'vitest'
import { type Client, createClient, type RemoteConversation, type RemoteFlow } from '../../src/client/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from '../server/start-server.ts'
import { type Attempt, tryHostile } from './try-hostile.ts'

type Table<Surface> = Readonly<Record<Exclude<keyof Surface, 'id'>, (client: Client) => Attempt[]>>

/** Of a member that takes nothing. */
const none = () => []

const chat = (client: Client): RemoteConversation => client.conversation('c', { agent: 'helper' })
const session = (client: Client): RemoteFlow => client.flow('greeting', 's')

/** The first event is enough: a stream would go on. */
async function first(events: AsyncIterable<unknown>): Promise<unknown> {
  for await (const event of events) return event
  return null
}

const clientVerbs: Table<Client> = {
  conversation: (client) => [
    (hostile) => client.conversation(hostile).view(),
    (hostile) => client.conversation('x', hostile).record(),
    (hostile) => client.conversation('new', { agent: hostile }).send('x', { whenBusy: 'queue' }),
  ],
  conversations: (client) => [
    (hostile) => client.conversations(hostile),
    (hostile) => client.conversations({ agent: hostile }),
    (hostile) => client.conversations({ limit: hostile }),
    (hostile) => client.conversations({ text: hostile }),
  ],
  live: (client) => [
    (hostile) => first(client.live(hostile)),
    (hostile) => first(client.live({ after: hostile })),
    (hostile) => first(client.live({ watch: hostile })),
    (hostile) => first(client.live({ watch: { c: hostile } })),
    (hostile) => first(client.live({ signal: hostile })),
    (hostile) => first(client.live({ backoff: hostile })),
    (hostile) => first(client.live({ onDisconnect: hostile })),
  ],
  totals: (client) => [(hostile) => client.totals(hostile), (hostile) => client.totals({ owner: hostile })],
  stats: (client) => [(hostile) => client.stats(hostile), (hostile) => client.stats({ window: hostile })],
  inbox: (client) => [(hostile) => client.inbox(hostile), (hostile) => client.inbox({ before: hostile })],
  resolve: (client) => [
    (hostile) => client.resolve(hostile, 'x', true),
    (hostile) => client.resolve('c', hostile, true),
    (hostile) => client.resolve('c', 'x', hostile),
    (hostile) => client.resolve('c', 'x', true, { digest: hostile }),
  ],
  flow: (client) => [
    (hostile) => client.flow(hostile, 's').status(),
    (hostile) => client.flow('greeting', hostile).status(),
  ],
  sessions: (client) => [
    (hostile) => client.sessions(hostile),
    (hostile) => client.sessions({ flow: hostile }),
    (hostile) => client.sessions({ status: hostile }),
    (hostile) => client.sessions({ before: hostile }),
    (hostile) => client.sessions({ text: hostile }),
  ],
  flows: none,
  health: none,
  subscribers: none,
  failedDeliveries: (client) => [
    (hostile) => client.failedDeliveries(hostile),
    (hostile) => client.failedDeliveries({ subscriber: hostile }),
    (hostile) => client.failedDeliveries({ before: hostile }),
    (hostile) => client.failedDeliveries({ limit: hostile }),
  ],
  retryDeliveries: (client) => [
    (hostile) => client.retryDeliveries(hostile),
    (hostile) => client.retryDeliveries([hostile]),
  ],
  discardDeliveries: (client) => [
    (hostile) => client.discardDeliveries(hostile),
    (hostile) => client.discardDeliveries([hostile]),
  ],
  bulk: (client) => [
    (hostile) => client.bulk.count(hostile),
    (hostile) => client.bulk.count({ action: hostile }),
    (hostile) => client.bulk.start(hostile),
    (hostile) => client.bulk.start({ action: 'cancel', filter: hostile }),
    (hostile) => client.bulk.list(hostile),
    (hostile) => client.bulk.list({ before: hostile }),
    (hostile) => client.bulk.get(hostile),
    (hostile) => client.bulk.stop(hostile),
  ],
  nodes: none,
  work: (client) => [
    (hostile) => client.work(hostile),
    (hostile) => client.work({ state: hostile }),
    (hostile) => client.work({ after: hostile }),
    (hostile) => client.work({ after: { at: 1, tenant: 'default', id: hostile } }),
  ],
  drain: (client) => [(hostile) => client.drain(hostile), (hostile) => client.drain('w', hostile)],
  undrain: (client) => [(hostile) => client.undrain(hostile), (hostile) => client.undrain('w', hostile)],
  unquarantine: (client) => [(hostile) => client.unquarantine(hostile)],
  pause: (client) => [
    (hostile) => client.pause(hostile),
    (hostile) => client.pause({ agent: hostile }),
    (hostile) => client.pause({ agent: 'helper' }, hostile),
  ],
  resume: (client) => [
    (hostile) => client.resume(hostile),
    (hostile) => client.resume({ tenant: hostile }),
    (hostile) => client.resume({ agent: 'helper' }, hostile),
  ],
  pauses: (client) => [(hostile) => client.pauses(hostile), (hostile) => client.pauses({ before: hostile })],
  steeringActs: (client) => [
    (hostile) => client.steeringActs(hostile),
    (hostile) => client.steeringActs({ limit: hostile }),
  ],
  removeSubscriber: (client) => [(hostile) => client.removeSubscriber(hostile)],
  ready: none,
}

const conversationVerbs: Table<RemoteConversation> = {
  send: (client) => [
    (hostile) => chat(client).send(hostile, { whenBusy: 'queue' }),
    (hostile) => chat(client).send([{ type: 'text', text: hostile }], { whenBusy: 'queue' }),
    (hostile) => chat(client).send('x', hostile),
    (hostile) => chat(client).send('x', { key: hostile }),
    (hostile) => chat(client).send('x', { output: hostile }),
    (hostile) => chat(client).send('x', { maxSteps: hostile }),
    (hostile) => chat(client).send('x', { data: hostile, whenBusy: 'queue' }),
  ],
  outcome: (client) => [
    (hostile) => chat(client).outcome(hostile),
    (hostile) => chat(client).outcome('t', hostile),
    (hostile) => chat(client).outcome('t', { signal: hostile }),
  ],
  cancel: (client) => [
    (hostile) => chat(client).cancel(hostile),
    (hostile) => chat(client).cancel({ turnId: hostile }),
  ],
  rename: (client) => [(hostile) => chat(client).rename(hostile)],
  retry: (client) => [
    (hostile) => chat(client).retry(hostile),
    (hostile) => chat(client).retry('none', hostile),
    (hostile) => chat(client).retry('none', { key: hostile }),
    (hostile) => chat(client).retry('none', { force: hostile }),
  ],
  approve: (client) => [
    (hostile) => chat(client).approve(hostile),
    (hostile) => chat(client).approve({ callId: hostile }),
    (hostile) => chat(client).approve({ callId: 'x', round: hostile }),
    (hostile) => chat(client).approve('x', hostile),
    (hostile) => chat(client).approve('x', { args: hostile }),
    (hostile) => chat(client).approve('x', { key: hostile }),
    (hostile) => chat(client).approve('x', { digest: hostile }),
  ],
  deny: (client) => [
    (hostile) => chat(client).deny(hostile),
    (hostile) => chat(client).deny('x', hostile),
    (hostile) => chat(client).deny('x', { reason: hostile }),
    (hostile) => chat(client).deny('x', { key: hostile }),
    (hostile) => chat(client).deny('x', { digest: hostile }),
  ],
  answer: (client) => [
    (hostile) => chat(client).answer(hostile, 1),
    (hostile) => chat(client).answer('x', hostile),
    (hostile) => chat(client).answer('x', 1, hostile),
    (hostile) => chat(client).answer('x', 1, { key: hostile }),
    (hostile) => chat(client).answer('x', 1, { digest: hostile }),
  ],
  resolve: (client) => [
    (hostile) => chat(client).resolve(hostile, 1),
    (hostile) => chat(client).resolve('x', hostile),
    (hostile) => chat(client).resolve('x', 1, hostile),
  ],
  extendDeadline: (client) => [
    (hostile) => chat(client).extendDeadline(hostile, { expiresInMs: 1 }),
    (hostile) => chat(client).extendDeadline({ callId: 'x', round: hostile }, { expiresInMs: 1 }),
    (hostile) => chat(client).extendDeadline('x', hostile),
    (hostile) => chat(client).extendDeadline('x', { expiresInMs: hostile }),
  ],
  note: (client) => [
    (hostile) => chat(client).note(hostile, null),
    (hostile) => chat(client).note('rated', hostile),
    (hostile) => chat(client).note('rated', { inner: hostile }),
  ],
  record: none,
  view: (client) => [(hostile) => chat(client).view(hostile), (hostile) => chat(client).view({ at: hostile })],
  history: (client) => [
    (hostile) => chat(client).history(hostile),
    (hostile) => chat(client).history({ before: hostile }),
  ],
  events: (client) => [
    (hostile) => chat(client).events(hostile),
    (hostile) => chat(client).events({ after: hostile }),
    (hostile) => chat(client).events({ limit: hostile }),
  ],
  eventPages: (client) => [
    (hostile) => first(chat(client).eventPages(hostile)),
    (hostile) => first(chat(client).eventPages({ before: hostile })),
    (hostile) => first(chat(client).eventPages({ limit: hostile })),
  ],
  // What is wrong with an option must not look like a connection that broke, which is tried again for ever.
  watch: (client) => [
    (hostile) => first(chat(client).watch(hostile)),
    (hostile) => first(chat(client).watch({ after: hostile })),
    (hostile) => first(chat(client).watch({ signal: hostile })),
    (hostile) => first(chat(client).watch({ backoff: hostile })),
    (hostile) => first(chat(client).watch({ onDisconnect: hostile })),
  ],
  views: (client) => [(hostile) => first(chat(client).views(hostile))],
  fork: (client) => [
    (hostile) => chat(client).fork(hostile),
    (hostile) => chat(client).fork({ at: hostile }),
    (hostile) => chat(client).fork({ id: hostile }),
  ],
  forks: (client) => [(hostile) => chat(client).forks(hostile), (hostile) => chat(client).forks({ before: hostile })],
  lineage: none,
  continue: none,
  delete: none,
  modelCalls: none,
  modelCall: (client) => [(hostile) => chat(client).modelCall(hostile)],
  explain: (client) => [(hostile) => chat(client).explain(hostile)],
  snapshot: none,
}

const sessionVerbs: Table<RemoteFlow> = {
  start: (client) => [
    (hostile) => session(client).start(hostile),
    (hostile) => session(client).start(1, hostile),
    (hostile) => session(client).start(1, { key: hostile }),
  ],
  resume: (client) => [
    (hostile) => session(client).resume(hostile),
    (hostile) => session(client).resume(1, hostile),
    (hostile) => session(client).resume(1, { seq: hostile }),
  ],
  continue: none,
  outcome: (client) => [
    (hostile) => session(client).outcome(hostile),
    (hostile) => session(client).outcome({ signal: hostile }),
  ],
  watch: (client) => [
    (hostile) => first(session(client).watch(hostile)),
    (hostile) => first(session(client).watch({ after: hostile })),
    (hostile) => first(session(client).watch({ signal: hostile })),
  ],
  status: none,
  record: none,
  events: (client) => [(hostile) => session(client).events(hostile)],
  fork: (client) => [(hostile) => session(client).fork(hostile), (hostile) => session(client).fork('f', hostile)],
  forks: (client) => [(hostile) => session(client).forks(hostile)],
  lineage: none,
  delete: none,
}

const surfaces = {
  client: [clientVerbs, (client: Client): object => client],
  conversation: [conversationVerbs, chat],
  session: [sessionVerbs, session],
} as const

describe('whatever a client is given, it succeeds or fails with a code', () => {
  for (const [name, [table, surface]] of Object.entries(surfaces)) {
    test(`${name}: every verb is tried`, () => {
      const members = Object.keys(surface(createClient({ url: 'http://127.0.0.1:1' })))
      expect(Object.keys(table).toSorted()).toEqual(members.filter((member) => member !== 'id').toSorted())
    })
    for (const [verb, attempts] of Object.entries<(client: Client) => Attempt[]>(table)) {
      if (attempts === none) continue
      test(`${name}: ${verb}`, async () => {
        const { client } = await startServer({ model: scriptedModel(() => 'Hello.') })
        await chat(client).send('Hi')
        expect(await tryHostile(attempts(client))).toEqual([])
        expect(await client.health()).toEqual({ status: 'ok' })
      }, 300_000)
    }
  }

  test('what it is created with', async () => {
    const url = 'http://127.0.0.1:1'
    const attempts: Attempt[] = [
      (hostile) => createClient(hostile).health(),
      (hostile) => createClient({ url: hostile }).health(),
      (hostile) => createClient({ url, token: hostile }).health(),
      (hostile) => createClient({ url, operatorToken: hostile }).health(),
      (hostile) => createClient({ url, headers: hostile }).health(),
    ]
    expect(await tryHostile(attempts)).toEqual([])
    expect(() => createClient({ url, fetch: 5 as never })).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    )
  }, 60_000)

  test('dots are not taken for steps of the path', () => {
    const client = createClient({ url: 'http://127.0.0.1:1' })
    for (const id of ['.', '..']) {
      expect(() => client.conversation(id)).toThrow(expect.objectContaining({ code: 'invalid_id' }))
    }
  })
})
