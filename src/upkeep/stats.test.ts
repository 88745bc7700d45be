import { expect, test } from 'vitest'
import type { StoredFigures } from '../store/upkeep.ts'
import { statsOf } from './stats.ts'

const now = 10_000_000
const none: StoredFigures = {
  ...{ now, storeBytes: null, events: [], modelCalls: [], nodes: [], answered: [], isPartial: false },
  inbox: { waiting: 0, oldestAt: null },
  expiry: { overdue: 0, oldestDueAt: null },
}
const event = (type: string, at: number, more: object = {}) => ({
  ...{ log: 1, type, at, callId: null, status: null, reason: null },
  ...more,
})

test('an hour has 60 buckets of a minute, a day 96 of a quarter, without gaps, up to now', () => {
  for (const [window, count] of [
    ['hour', 60],
    ['day', 96],
  ] as const) {
    const { buckets, bucketMs, at } = statsOf(none, window)
    expect(buckets).toHaveLength(count)
    expect(buckets.map((bucket) => bucket.at)).toEqual(
      Array.from({ length: count }, (_, n) => at - (count - n) * bucketMs),
    )
  }
})

test('turns, tools, model calls, tokens and errors are in the bucket they ended in', () => {
  const usage = JSON.stringify({ inputTokens: 10, outputTokens: 5, timeToFirstTokenMs: 40 })
  const model = JSON.stringify({ provider: 'acme', modelId: 'm1' })
  const stats = statsOf(
    {
      ...none,
      events: [
        event('turn_ended', now, { status: 'completed' }),
        event('turn_ended', now - 60_001, { status: 'failed', reason: 'model_failed: it broke' }),
        event('tool_started', now - 500, { callId: 'c' }),
        event('tool_result', now - 200, { callId: 'c' }),
        event('tool_result', now - 200, { callId: 'c', log: 2 }),
      ],
      modelCalls: [
        ...Array.from({ length: 99 }, () => ({ log: 1, at: now - 1, latencyMs: 100, status: 'ok', model, usage })),
        { log: 1, at: now - 1, latencyMs: 900, status: 'ok', model, usage: 'damaged' },
      ],
      expiry: { overdue: 2, oldestDueAt: now - 70 },
    },
    'hour',
  )
  const [before, last] = stats.buckets.slice(-2)
  expect(last).toMatchObject({ turns: { completed: 1 }, tool: { count: 1, p50: 300, p99: 300 }, errors: 0 })
  expect(last).toMatchObject({
    model: { count: 100, p50: 100, p99: 100 },
    firstToken: { count: 99, p50: 40 },
    tokens: 99 * 15,
  })
  expect(before).toMatchObject({ turns: { failed: 1 }, errors: 1, model: null })
  expect(stats.errors).toEqual([{ code: 'model_failed', count: 1 }])
  expect(stats.models).toEqual([{ model: 'acme/m1', calls: 100, inputTokens: 990, outputTokens: 495 }])
  expect(stats.expiry).toEqual({ overdue: 2, lagMs: 70 })
})

const call = (at: number, log = 1, timeToFirstTokenMs: number | null = 40) => ({
  ...{ log, at, latencyMs: 100, status: 'ok', model: null },
  usage: JSON.stringify({ timeToFirstTokenMs }),
})
const answer = (at: number, status = 'resolved', log = 1) => event('resolution', at, { callId: 'c', status, log })

test('from the last answer of a person to the first token after it, in the same log and turn', () => {
  const { buckets } = statsOf(
    {
      ...none,
      events: [
        // Of two answers the model waited for the second. The call before them followed none.
        ...[answer(now - 9_000), answer(now - 8_000, 'denied')],
        // A turn that ended did not wait.
        ...[answer(now - 5_000, 'resolved', 2), event('turn_ended', now - 4_000, { log: 2, status: 'completed' })],
        // No person answered.
        ...[answer(now - 5_000, 'expired', 3), answer(now - 5_000, 'cancelled', 4)],
      ],
      modelCalls: [
        ...[call(now - 10_000), call(now - 7_000, 1, null), call(now - 6_000), call(now - 1_000)],
        ...[call(now - 1_000, 2), call(now - 1_000, 3), call(now - 1_000, 4), call(now - 1_000, 5)],
      ],
    },
    'hour',
  )
  expect(buckets.at(-1)!.answerToFirstToken).toEqual({ count: 1, p50: 1_940, p99: 1_940 })
  expect(buckets.at(-2)!.answerToFirstToken).toBeNull()
})

test('the age of the oldest question over time: of those that were answered since, and of those that wait', () => {
  const { buckets } = statsOf(
    {
      ...none,
      inbox: { waiting: 2, oldestAt: now - 90_000 },
      answered: [
        { createdAt: now - 86_400_000, resolvedAt: now - 200_000 },
        { createdAt: now - 250_000, resolvedAt: now - 100_000 },
      ],
    },
    'hour',
  )
  expect(buckets.slice(-4).map(({ oldestWaitMs }) => oldestWaitMs)).toEqual([70_000, 130_000, 30_000, 90_000])
  expect(buckets[0]!.oldestWaitMs).toBe(86_400_000 - 59 * 60_000)
  expect(statsOf(none, 'day').buckets.every(({ oldestWaitMs }) => oldestWaitMs === null)).toBe(true)
})
