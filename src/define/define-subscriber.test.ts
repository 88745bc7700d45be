import { expect, test, vi } from 'vitest'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import {
  afterHook,
  defineSubscriber,
  isAfterHook,
  isSubscriber,
  type SubscriberAttributes,
  subscriberOf,
} from './define-subscriber.ts'

const run = () => {}
const plain: SubscriberAttributes = { name: 's', on: ['waiting'], run }
const define = (more: object) => () => defineSubscriber({ ...plain, ...more })

test('a subscriber has what it is given, each topic once, and is frozen', () => {
  expect(defineSubscriber(plain)).toEqual({
    ...{ name: 's', on: ['waiting'], agent: null, timeoutMs: 30_000, run },
    retry: { maxAttempts: 10, baseMs: 1_000, maxMs: 3_600_000 },
  })
  const given = defineSubscriber({
    ...plain,
    ...{ on: ['note', 'waiting', 'note'], agent: 'a', timeoutMs: 1, retry: { maxAttempts: 1, baseMs: 2 } },
  })
  expect(given).toMatchObject({ on: ['note', 'waiting'], agent: 'a', timeoutMs: 1 })
  expect(given.retry).toEqual({ maxAttempts: 1, baseMs: 2, maxMs: 3_600_000 })
  expect([given, given.on, given.retry].map((part) => Object.isFrozen(part))).toEqual([true, true, true])
  expect([given, { ...given }, null, 's', undefined].map(isSubscriber)).toEqual([true, false, false, false, false])
})

const range = 'must be a whole number from 1 to 86400000, not'

test.each([
  [{ name: '' }, "'name' must be a string of 1 to 255 bytes"],
  [{ agent: '' }, "'agent' must be the name of an agent"],
  [{ on: [] }, "'on' must be a list of topics"],
  [{ on: 'waiting' }, "'on' must be a list of topics"],
  [{ on: ['suspension'] }, 'which is no topic; use waiting or a type of event'],
  [{ on: ['teleported'] }, 'which is no topic'],
  [{ on: [7] }, 'which is no topic'],
  [{ run: 7 }, "'run' must be a function of the event, not number"],
  [{ every: 1 }, "unknown key 'every'"],
  [{ retry: { times: 1 } }, "'retry': unknown key 'times'"],
  [{ retry: { maxAttempts: 0 } }, `'retry.maxAttempts' ${range} 0`],
  [{ retry: { baseMs: 1.5 } }, `'retry.baseMs' ${range} 1.5`],
  [{ retry: { maxMs: 86_400_001 } }, `'retry.maxMs' ${range} 86400001`],
  [{ timeoutMs: 0 }, `'timeoutMs' ${range} 0`],
])('a subscriber with %j is refused', (more, problem) => {
  expect(define(more)).toThrow(DefinitionError)
  expect(define(more)).toThrow(problem)
})

test('all that is wrong is told at once, and the longest times are taken', () => {
  expect(define({ name: '', agent: '', on: [], run: null })).toThrow(/'name' .*'agent' .*'on' .*'run' /s)
  expect(define({ timeoutMs: 86_400_000, retry: { baseMs: 1, maxMs: 86_400_000 } })).not.toThrow()
})

test('an after-hook is a subscriber to the messages of its agent, under both names', () => {
  const told = vi.fn(() => 'told')
  const hook = afterHook('metrics', told, { timeoutMs: 5, retry: { maxAttempts: 2 } })
  expect([hook, {}, null].map(isAfterHook)).toEqual([true, false, false])
  expect([Object.isFrozen(hook), Object.isFrozen(hook.options)]).toEqual([true, true])
  const subscriber = subscriberOf('helper', hook)
  expect(subscriber).toMatchObject({ name: 'helper/metrics', agent: 'helper', on: ['assistant_msg'], timeoutMs: 5 })
  expect(subscriber.retry).toMatchObject({ maxAttempts: 2, baseMs: 1_000 })
  const parts = [
    { type: 'text', text: 'a' },
    { type: 'reasoning', text: 'x' },
    { type: 'text', text: 'b' },
  ]
  const place = { id: 'e', tenant: 't', conversationId: 'c', seq: 3, at: 4 }
  const context = { signal: new AbortController().signal, attempt: 1 }
  const event = { ...place, topic: 'assistant_msg', agent: 'helper', title: null, event: { content: { parts } } }
  expect(subscriber.run(event as never, context)).toBe('told')
  expect(told.mock.calls).toEqual([[{ ...place, parts, text: 'ab' }, context]])
})

test.each([
  [['', run], "'name' must be a string"],
  [['h', 7], "'run' must be a function of the message, not number"],
  [['h', run, { every: 1 }], "unknown key 'every'"],
  [['h', run, { timeoutMs: 0 }], "'timeoutMs' must be a whole number"],
  [['h', run, { retry: { maxMs: 0 } }], "'retry.maxMs' must be a whole number"],
])('an after-hook of %j is refused', (given, problem) => {
  expect(() => afterHook(...(given as Parameters<typeof afterHook>))).toThrow(problem)
})
