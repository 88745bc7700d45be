import { expect, test } from 'vitest'
import type { StoredFigures } from '../store/upkeep.ts'
import { gaugesOf, metricsOf, readMetrics } from './metrics.ts'

const now = 1_000_000
const none: StoredFigures = {
  ...{ now, storeBytes: null, events: [], modelCalls: [], answered: [], nodes: [], isPartial: false },
  inbox: { waiting: 0, oldestAt: null },
  expiry: { overdue: 0, oldestDueAt: null },
}
const linesOf = (figures: StoredFigures) => readMetrics({ upkeep: { figures: async () => figures } } as never)

test('an empty store has zeros, and no series for what never happened', async () => {
  const text = await linesOf(none)
  expect(text).toContain('# TYPE perdure_inbox_waiting gauge\nperdure_inbox_waiting 0\n')
  expect(text).toContain('perdure_expiry_lag_seconds 0\n')
  expect(text).not.toContain('perdure_store_bytes')
  expect(text).not.toContain('perdure_recent_turns')
})

test('ages and lags are in seconds, by the clock of the store, and never below zero', () => {
  const figures = {
    ...none,
    inbox: { waiting: 2, oldestAt: now - 1_500 },
    expiry: { overdue: 1, oldestDueAt: now + 9 },
    nodes: [
      { holder: 'a', leases: 2, nextLapseAt: 0 },
      { holder: 'b', leases: 3, nextLapseAt: 0 },
    ],
  }
  expect(gaugesOf(figures)).toEqual({ waiting: 2, oldestWaiting: 1.5, overdue: 1, expiryLag: 0, leases: 5 })
  const late = { ...figures, expiry: { overdue: 3, oldestDueAt: now - 2_500 } }
  expect(gaugesOf(late)).toMatchObject({ overdue: 3, expiryLag: 2.5 })
})

test('turns, errors, tokens and durations are those of the last five minutes', async () => {
  const event = { log: 1, callId: null, status: null, reason: null }
  const text = await linesOf({
    ...none,
    events: [
      { ...event, type: 'turn_ended', at: now - 10, status: 'completed' },
      { ...event, type: 'turn_ended', at: now - 10, status: 'failed', reason: 'model_timed_out: no' },
      { ...event, type: 'tool_started', at: now - 2_010, callId: 'x' },
      { ...event, type: 'tool_result', at: now - 10, callId: 'x' },
    ],
    modelCalls: [
      {
        ...{ log: 1, at: now - 5, latencyMs: 700, status: 'ok', model: '{"provider":"p","modelId":"m\\"\\n"}' },
        usage: '{"inputTokens":5,"outputTokens":2}',
      },
    ],
  })
  for (const line of [
    'perdure_recent_turns{status="completed"} 1',
    'perdure_recent_turns{status="failed"} 1',
    'perdure_recent_errors{code="model_timed_out"} 1',
    'perdure_recent_tokens{model="p/m\\"\\n",type="input"} 5',
    'perdure_recent_model_seconds{quantile="0.99"} 0.7',
    'perdure_recent_tool_seconds{quantile="0.5"} 2',
  ])
    expect(text.split('\n')).toContain(line)
})

test('every metric is named and explained once', () => {
  const names = metricsOf(none).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^perdure_[a-z_]+$/)
})

test('a store without figures says so', async () => {
  await expect(readMetrics({} as never)).rejects.toMatchObject({ code: 'invalid_argument' })
})
