import { expect, test } from 'vitest'
import { checkedOutbox, type Delivery, type DeliveryEnd, type Outbox, outboxOf, stoppedSince } from './outbox.ts'

const day = 24 * 3_600_000

/** An outbox over a driver that writes down what it is asked. */
function asked() {
  const calls: unknown[][] = []
  const note =
    (name: string, answer: unknown) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
      return answer
    }
  const failed = [{ id: 1, error: '"no \\"way\\""' }]
  const driver = {
    register: note('register', ['registered']),
    claim: note('claim', ['claimed']),
    settle: note('settle', 'settled'),
    failed: note('failed', failed),
    endFailed: note('endFailed', 3),
    subscribers: note('subscribers', ['listed']),
    removeSubscriber: note('removeSubscriber', true),
  } as unknown as Outbox
  return { outbox: checkedOutbox(driver), calls }
}

const delivery: Delivery = { subscriber: 's', tenant: 't', conversationId: 'c', seq: 1, tries: 0, token: 0 }
const request = { subscribers: ['a'], limit: 1, leaseMs: 1, lapsed: false }
const done: DeliveryEnd = { type: 'delivered' }
const subscription = { name: 'a', types: ['note'], agent: null }

test.each<[string, (outbox: Outbox) => unknown, unknown[], unknown]>([
  [
    'register',
    (outbox) =>
      outbox.register([{ name: 'a', types: ['b', 'a', 'b'], agent: 'x' }, { name: 'c', types: ['a'] } as never]),
    [
      [
        { name: 'a', types: ['a', 'b'], agent: 'x' },
        { name: 'c', types: ['a'], agent: null },
      ],
    ],
    ['registered'],
  ],
  [
    'claim',
    (outbox) => outbox.claim({ ...request, subscribers: ['b', 'a', 'b'], lapsed: true }),
    [{ subscribers: ['b', 'a'], limit: 1, leaseMs: 1, lapsed: true }],
    ['claimed'],
  ],
  ['settle', (outbox) => outbox.settle(delivery, done), [delivery, { type: 'delivered' }], 'settled'],
  [
    'settle',
    (outbox) => outbox.settle(delivery, { type: 'delivered', leaseMs: 5 }),
    [delivery, { type: 'delivered', leaseMs: 5 }],
    'settled',
  ],
  [
    'settle',
    (outbox) => outbox.settle(delivery, { type: 'failed', error: 'a "b"', leaseMs: 5 }),
    [delivery, { type: 'failed', error: '"a \\"b\\""', leaseMs: 5 }],
    'settled',
  ],
  [
    'settle',
    (outbox) => outbox.settle(delivery, { type: 'again', inMs: 0, tries: 0 }),
    [delivery, { type: 'again', inMs: 0, tries: 0 }],
    'settled',
  ],
  ['failed', (outbox) => outbox.failed(), [{ limit: 100 }], [{ id: 1, error: 'no "way"' }]],
  [
    'failed',
    (outbox) => outbox.failed({ subscriber: 'a', before: 1, limit: 1 }),
    [{ subscriber: 'a', before: 1, limit: 1 }],
    [{ id: 1, error: 'no "way"' }],
  ],
  ['endFailed', (outbox) => outbox.endFailed([2, 1, 2], 'retry'), [[2, 1], 'retry'], 3],
  ['endFailed', (outbox) => outbox.endFailed([1], 'discard'), [[1], 'discard'], 3],
  ['subscribers', (outbox) => outbox.subscribers(), [], ['listed']],
  ['removeSubscriber', (outbox) => outbox.removeSubscriber('a'), ['a'], true],
])('%s hands the driver what it is given, each once', async (name, ask, given, answer) => {
  const { outbox, calls } = asked()
  expect(await ask(outbox)).toEqual(answer)
  expect(calls).toStrictEqual([[name, ...given]])
})

test('nothing is asked of a driver for empty lists', async () => {
  const { outbox, calls } = asked()
  expect(await outbox.register([])).toEqual([])
  expect(await outbox.claim({ ...request, subscribers: [] })).toEqual([])
  expect(await outbox.endFailed([], 'retry')).toBe(0)
  expect(calls).toEqual([])
})

test.each<[string, (outbox: Outbox) => unknown]>([
  ["'subscribers' must not have a name twice", (outbox) => outbox.register([subscription, subscription])],
  ['The subscriber is empty', (outbox) => outbox.register([{ ...subscription, name: '' }])],
  ["'types' must name at least one type", (outbox) => outbox.register([{ ...subscription, types: [] }])],
  ['The type is empty', (outbox) => outbox.register([{ ...subscription, types: [''] }])],
  ['The agent is empty', (outbox) => outbox.register([{ ...subscription, agent: '' }])],
  ["'limit' must be a whole number of at least 1", (outbox) => outbox.claim({ ...request, limit: 0 })],
  ["'leaseMs' must be a whole number of at least 1", (outbox) => outbox.claim({ ...request, leaseMs: 0 })],
  ["'lapsed' must be true or false", (outbox) => outbox.claim({ ...request, lapsed: 1 as never })],
  ['The subscriber is empty', (outbox) => outbox.claim({ ...request, subscribers: [''] })],
  ['The subscriber is empty', (outbox) => outbox.settle({ ...delivery, subscriber: '' }, done)],
  ['The tenant is empty', (outbox) => outbox.settle({ ...delivery, tenant: '' }, done)],
  ['The conversation id is empty', (outbox) => outbox.settle({ ...delivery, conversationId: '' }, done)],
  ["'seq' must be a whole number of at least 1", (outbox) => outbox.settle({ ...delivery, seq: 0 }, done)],
  ["'tries' must be a whole number of at least 0", (outbox) => outbox.settle({ ...delivery, tries: -1 }, done)],
  ["'token' must be a whole number of at least 0", (outbox) => outbox.settle({ ...delivery, token: -1 }, done)],
  ["'type' must be one of", (outbox) => outbox.settle(delivery, { type: 'lost' } as never)],
  ["'inMs' must be", (outbox) => outbox.settle(delivery, { type: 'again', inMs: -1, tries: 0 })],
  ["'tries' must be", (outbox) => outbox.settle(delivery, { type: 'again', inMs: 0, tries: -1 })],
  ["'leaseMs' must be", (outbox) => outbox.settle(delivery, { type: 'delivered', leaseMs: 0 })],
  ["'error' must be a string", (outbox) => outbox.settle(delivery, { type: 'failed' } as never)],
  ['The subscriber is empty', (outbox) => outbox.failed({ subscriber: '' })],
  ["'before' must be a whole number of at least 1", (outbox) => outbox.failed({ before: 0 })],
  ["'limit' must be a whole number of at least 1", (outbox) => outbox.failed({ limit: 0 })],
  ["'id' must be a whole number of at least 1", (outbox) => outbox.endFailed([0], 'retry')],
  ["'how' must be one of retry, discard", (outbox) => outbox.endFailed([], 'keep' as never)],
  ['The subscriber is empty', (outbox) => outbox.removeSubscriber('')],
])('what is wrong is refused: %s', async (problem, ask) => {
  const { outbox, calls } = asked()
  await expect(ask(outbox)).rejects.toThrow(problem)
  expect(calls).toEqual([])
})

test.each([
  ['x'.repeat(1_000), 'x'.repeat(1_000)],
  ['x'.repeat(1_001), 'x'.repeat(1_000)],
  [`${'x'.repeat(999)}😀`, `${'x'.repeat(999)}\ufffd`],
])('of a long error the first thousand characters are kept', async (error, kept) => {
  const { outbox, calls } = asked()
  await outbox.settle(delivery, { type: 'failed', error })
  expect(calls[0]![2]).toEqual({ type: 'failed', error: JSON.stringify(kept) })
})

test('a subscriber has stopped once no node has claimed it for seven days', () => {
  expect([7 * day - 1, 7 * day, 8 * day].map((now) => stoppedSince(5, now + 5))).toEqual([
    null,
    7 * day + 5,
    7 * day + 5,
  ])
})

test('a store without an outbox is refused', () => {
  const { outbox } = asked()
  expect(outboxOf({ outbox })).toBe(outbox)
  expect(() => outboxOf({})).toThrow(expect.objectContaining({ code: 'outbox_unsupported' }))
})
