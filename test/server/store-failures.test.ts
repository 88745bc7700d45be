import { afterEach, beforeEach, expect, test } from 'vitest'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import type { Client } from '../../src/client/index.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { startServer } from './start-server.ts'

/** Each begins on a conversation 'c' with one turn, and a session 's'. */
const readingVerbs: readonly [string, (client: Client) => Promise<unknown>][] = [
  ['record', (client) => client.conversation('c').record()],
  ['view', (client) => client.conversation('c').view()],
  ['history', (client) => client.conversation('c').history()],
  ['events', (client) => client.conversation('c').events()],
  ['forks', (client) => client.conversation('c').forks()],
  ['lineage', (client) => client.conversation('c').lineage()],
  ['inbox', (client) => client.inbox()],
  ['conversations', (client) => client.conversations()],
  ['status of a session', (client) => client.flow('greeting', 's').status()],
  ['record of a session', (client) => client.flow('greeting', 's').record()],
  ['events of a session', (client) => client.flow('greeting', 's').events()],
]

/** What a node does by itself, and what needs no answer. */
const unasked = ['onWake', 'close', 'dueWork', 'keepLeases', 'expireCalls']
const mostCalls = 10

const unhandled: unknown[] = []
const onUnhandled = (error: unknown): void => void unhandled.push(error)

beforeEach(() => void process.on('unhandledRejection', onUnhandled))

afterEach(() => {
  process.off('unhandledRejection', onUnhandled)
  unhandled.length = 0
})

test.each(readingVerbs)(
  'a store that fails in the middle of a request is told of, and does not end the server: %s',
  async (_, verb) => {
    for (let failFrom = 0; failFrom < mostCalls; failFrom++) {
      const failing = failingStore()
      const { client } = await startServer({ runtime: (store) => ({ store: failing.over(store) }) })
      const chat = client.conversation('c', { agent: 'helper' })
      await chat.outcome((await chat.send('Hi')).turnId)
      await client.flow('greeting', 's').start('Hello')
      failing.after(failFrom)
      const failure = await verb(client).then(
        () => null,
        (error: unknown) => error,
      )
      if (failure !== null) expect(failure).toMatchObject({ code: 'store_failed', status: 503 })
      // Rejections that are never handled are told of when the microtasks are through.
      await new Promise((resolve) => setTimeout(resolve, 5))
      expect(unhandled).toEqual([])
      failing.after(Number.POSITIVE_INFINITY)
    }
  },
)

/** It fails from some call on, as it does when the database goes away in the middle of a request. */
function failingStore() {
  let left = Number.POSITIVE_INFINITY
  const over = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => over((target as Store).forTenant(tenant))
        if (unasked.includes(String(name)) || typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          left -= 1
          if (left < 0) throw new StoreError('the connection was lost', { ambiguous: false })
          return member.apply(object, args)
        }
      },
    })
  return { over, after: (calls: number) => void (left = calls) }
}
