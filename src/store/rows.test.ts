import { expect, test } from 'vitest'
import type { StoredCall } from './driver.ts'
import {
  decodeCall,
  decodeEvent,
  decodeModelCall,
  decodeSummary,
  encodeModelCall,
  encodeSummary,
  forkParents,
  mergeSettings,
} from './rows.ts'

const summary = { fromSeq: 2, toSeq: 5, version: 1, content: { text: 'so far' }, base: null }

test('an event comes back with the conversation it is of', () => {
  expect(decodeEvent('c', { seq: 3, at: 9, type: 'titled', content: '{"title":"T"}' })).toEqual({
    ...{ conversationId: 'c', seq: 3, at: 9, type: 'titled', content: { title: 'T' } },
  })
})

test('the forks of a conversation are found between two texts, and those of others are not', () => {
  const { from, to } = forkParents('a"b')
  for (const at of [0, 9, 10, 12345]) {
    const parent = JSON.stringify({ id: 'a"b', at })
    expect(parent >= from && parent < to).toBe(true)
  }
  for (const other of [
    { id: 'a"b', callId: 'c' },
    { id: 'a"c', at: 1 },
    { id: 'a', at: 1 },
  ]) {
    const parent = JSON.stringify(other)
    expect(parent >= from && parent < to).toBe(false)
  }
})

test('a call comes back whole, with nothing where nothing was stored', () => {
  const row: StoredCall = {
    ...{ id: 'c1', conversationId: 'c', name: '"pay"', executor: 'server', status: 'pending', args: '{"n":1}' },
    ...{ result: null, round: 2, kind: 'approval', prompt: null, expiresAt: 7, createdAt: 3, resolvedAt: null },
    resolvedSeq: null,
    notice: null,
    meta: null,
  }
  const { resolvedSeq: _, ...plain } = row
  expect(decodeCall(row)).toEqual({ ...plain, name: 'pay', args: { n: 1 } })
  expect(decodeCall({ ...row, result: '{"ok":true}', prompt: '"sure?"' })).toMatchObject({
    ...{ result: { ok: true }, prompt: 'sure?' },
  })
})

test('a summary is stored and comes back the same, with its base or without', () => {
  expect(encodeSummary(summary)).toEqual({ ...summary, content: '{"text":"so far"}', plannedOn: summary.toSeq })
  expect(decodeSummary(encodeSummary(summary))).toEqual(summary)
  const based = { ...summary, base: { lastSeq: 5 } as never }
  expect(decodeSummary(encodeSummary(based))).toEqual(based)
})

test.each([
  ['fromSeq', { fromSeq: -1 }],
  ['toSeq', { toSeq: 1 }],
  ['version', { version: -1 }],
  ['content', { content: Number.NaN }],
  ['base', { base: { lastSeq: Number.NaN } }],
])('a summary with a wrong %s is refused with that name', (name, wrong) => {
  expect(() => encodeSummary({ ...summary, ...wrong } as never)).toThrow(name)
  expect(() => encodeSummary(null as never)).toThrow('summary')
})

test('a model call is stored with nothing where nothing was given, and as one that went well', () => {
  const none = { renderedContext: null, model: null, usage: null, latencyMs: null, summaryVersion: null }
  expect(encodeModelCall({ turnRef: 't' })).toEqual({
    ...{ turnRef: 't', ...none, status: '"ok"', evictions: null, meta: null, at: null },
  })
  const whole = {
    ...{ turnRef: 't', renderedContext: [1], model: { id: 'm' }, usage: { n: 1 }, latencyMs: 0, status: 'failed' },
    ...{ summaryVersion: 0, evictions: { seen: 1 }, at: 0, meta: { ticket: 1 } },
  }
  const stored = encodeModelCall(whole as never)
  expect(decodeModelCall({ ...stored, at: stored.at! })).toEqual(whole)
  expect(decodeModelCall({ ...encodeModelCall({ turnRef: 't' }), at: 5 })).toEqual({
    ...{ turnRef: 't', ...none, status: 'ok', evictions: null, at: 5, meta: null },
  })
  expect(encodeModelCall({ turnRef: 't', latencyMs: null, summaryVersion: null } as never).latencyMs).toBe(null)
})

test.each([
  ['turnRef', ''],
  ['at', -1],
  ['latencyMs', -1],
  ['summaryVersion', -1],
  ['renderedContext', Number.NaN],
  ['model', Number.NaN],
  ['usage', Number.NaN],
  ['status', Number.NaN],
  ['evictions', Number.NaN],
])('a model call with a wrong %s is refused with that name', (name, value) => {
  expect(() => encodeModelCall({ turnRef: 't', [name]: value } as never)).toThrow(name)
  expect(() => encodeModelCall(undefined as never)).toThrow('model call')
})

test('settings are added key by key, and damaged ones are not written over', () => {
  expect(JSON.parse(mergeSettings('{"a":1,"b":{"c":1}}', '{"b":2,"d":3}'))).toEqual({ a: 1, b: 2, d: 3 })
  expect(() => mergeSettings('{"a":', '{"b":2}')).toThrow('settings')
})
