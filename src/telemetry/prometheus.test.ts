import { expect, test } from 'vitest'
import type { Observation } from '../engine/observer.ts'
import { plainName } from './names.ts'
import { prometheus } from './prometheus.ts'

const ref = { tenant: 'acme', id: 'c1' }
const attempted = (modelId: string, more: object = {}): Observation => ({
  ...{ type: 'model_attempted', ref, name: 'helper', turnRef: 't/0000' },
  attempt: {
    ...{ model: { provider: 'p', modelId }, attempt: 1, status: 'ok', latencyMs: 700, timeToFirstTokenMs: 40 },
    ...{ usage: { inputTokens: 10, outputTokens: 3 }, warnings: [], ...more },
  },
})
const linesOf = (text: string, beginning: string) => text.split('\n').filter((line) => line.startsWith(beginning))

test('counts and buckets what was observed, without names of tenants and conversations', () => {
  const counts = prometheus()
  for (const observation of [attempted('m'), attempted('m', { attempt: 2, status: 'failed' })])
    counts.observe(observation)
  counts.observe({ type: 'lease_lost', ref })
  const text = counts.text()
  expect(linesOf(text, 'perdure_leases_lost')).toEqual(['perdure_leases_lost_total 1'])
  expect(linesOf(text, 'perdure_model_retries')).toEqual([
    'perdure_model_retries_total{gen_ai_operation_name="chat",gen_ai_provider_name="p",gen_ai_request_model="m"} 1',
  ])
  const series = 'gen_ai_operation_name="chat",gen_ai_provider_name="p",gen_ai_request_model="m"'
  const measured = linesOf(text, 'gen_ai_client_operation_duration_seconds')
  expect(measured).toContain(`gen_ai_client_operation_duration_seconds_bucket{${series},le="0.5"} 0`)
  expect(measured).toContain(`gen_ai_client_operation_duration_seconds_bucket{${series},le="1"} 1`)
  expect(measured).toContain(`gen_ai_client_operation_duration_seconds_bucket{${series},le="+Inf"} 1`)
  expect(measured).toContain(`gen_ai_client_operation_duration_seconds_sum{${series}} 0.7`)
  expect(measured.filter((line) => line.includes('error_type="model_failed"')).length).toBeGreaterThan(0)
  expect(text).toContain('# TYPE gen_ai_client_token_usage histogram\n')
  expect(text).not.toMatch(/acme|c1/)
})

test('writes hostile names on one line, in quotes', () => {
  const counts = prometheus()
  counts.observe(attempted('a"b\\c\nd\u2028e\ud800'))
  const [line] = linesOf(counts.text(), 'gen_ai_client_operation_duration_seconds_count')
  expect(line).toContain('gen_ai_request_model="a\\"b\\\\c?d?e?"')
})

test('keeps at most 200 values of a name, and counts the rest together', () => {
  const counts = prometheus()
  for (let n = 0; n < 500; n++) counts.observe(attempted(`model-${n}`))
  const lines = linesOf(counts.text(), 'gen_ai_client_operation_duration_seconds_count')
  expect(lines).toHaveLength(201)
  expect(lines.find((line) => line.includes('_OTHER'))).toMatch(/ 300$/)
})

test('counts a log that cannot be read as dropped, and goes on', async () => {
  const counts = prometheus()
  const store = { streamEvents: async () => Promise.reject(new Error('away')) } as never
  const ends = { turnId: 't', firstSeq: 1, lastSeq: 2, heldFrom: 1 }
  counts.observe({ type: 'rested', ref, name: 'helper', ...ends, store })
  await counts.flush()
  expect(counts.text()).toContain('perdure_telemetry_dropped_total 1')
})

test('drops what comes when too many logs wait to be read, and holds no more of them', async () => {
  const counts = prometheus()
  const { promise, resolve } = Promise.withResolvers<void>()
  const store = { streamEvents: () => promise.then(() => []), modelCalls: async () => [] } as never
  const ends = { turnId: 't', firstSeq: 1, lastSeq: 2, heldFrom: 1 }
  for (let n = 0; n < 1_100; n++) counts.observe({ type: 'rested', ref, name: 'helper', ...ends, store })
  expect(counts.text()).toContain('perdure_telemetry_dropped_total 96')
  resolve()
  await counts.flush()
})

test.each([
  ['', '?'],
  ['x'.repeat(1_000), 'x'.repeat(128)],
  ['a\u0000b\u001bc', 'a?b?c'],
  ['\u{1f9d9}'.repeat(100), '\u{1f9d9}'.repeat(64)],
  [`${'x'.repeat(127)}\u{1f9d9}`, `${'x'.repeat(127)}?`],
])('the name %j becomes %j', (given, plain) => {
  expect(plainName(given)).toBe(plain)
})
