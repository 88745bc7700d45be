import { describe, expect, test } from 'vitest'
import { build } from '../../test/support/build-message.ts'
import { hasBegun } from './message-draft.ts'

describe('calls of our tools', () => {
  const own = (toolCallId: unknown, toolName: unknown, input: unknown, more: object = {}) => ({
    type: 'tool-call',
    toolCallId,
    toolName,
    input,
    ...more,
  })

  test('get an id of ours, and keep the one of the provider', () => {
    const { parts, calls } = build([
      own('x', 'refund', '{"cents":1}', { providerMetadata: { google: { thoughtSignature: 's' } } }),
    ])
    expect(parts).toEqual([{ type: 'call', callId: 'c1', providerMetadata: { google: { thoughtSignature: 's' } } }])
    expect(calls).toEqual([{ callId: 'c1', providerCallId: 'x', name: 'refund', input: '{"cents":1}' }])
  })

  test('have the id under which their input was streamed', () => {
    const { calls, chunks } = build([
      { type: 'tool-input-start', id: 'x', toolName: 'refund' },
      { type: 'tool-input-start', id: 'y', toolName: 'search' },
      { type: 'tool-input-delta', id: 'x', delta: '{"a"' },
      { type: 'tool-input-delta', id: 'y', delta: '{}' },
      { type: 'tool-input-delta', id: 'x', delta: ':1}' },
      { type: 'tool-input-end', id: 'x', providerMetadata: { p: { s: 1 } } },
      own('y', 'search', '{}'),
      own('x', 'refund', '{"a":1}'),
    ])
    expect(chunks).toEqual([
      { type: 'tool_input_delta', callId: 'c1', name: 'refund', delta: '{"a"' },
      { type: 'tool_input_delta', callId: 'c2', name: 'search', delta: '{}' },
      { type: 'tool_input_delta', callId: 'c1', name: 'refund', delta: ':1}' },
    ])
    expect(calls.map(({ callId, name, input }) => [callId, name, input])).toEqual([
      ['c1', 'refund', '{"a":1}'],
      ['c2', 'search', '{}'],
    ])
  })

  test('that come in one piece are shown in one', () => {
    expect(build([own('x', 'refund', '{}')]).chunks).toEqual([
      { type: 'tool_input_delta', callId: 'c1', name: 'refund', delta: '{}' },
    ])
  })

  test.each([
    ['an object', { cents: 1 }, '{"cents":1}'],
    ['a list', [1], '[1]'],
    ['null', null, 'null'],
    ['nothing', undefined, ''],
    ['what JSON cannot hold', 1n, ''],
    ['broken JSON', '{"a', '{"a'],
  ])('whose input is %s are passed on as text', (_, input, expected) => {
    expect(build([own('x', 'refund', input)]).calls[0]!.input).toBe(expected)
  })

  test('whose input is missing have what was streamed of it', () => {
    const stream = [
      { type: 'tool-input-start', id: 'x', toolName: 'refund' },
      { type: 'tool-input-delta', id: 'x', delta: '{"a":1}' },
      own('x', undefined, undefined),
    ]
    expect(build(stream).calls).toEqual([{ callId: 'c1', providerCallId: 'x', name: 'refund', input: '{"a":1}' }])
  })

  test('that did not come whole are not calls', () => {
    const { parts, calls, draft } = build([
      { type: 'tool-input-start', id: 'x', toolName: 'refund' },
      { type: 'tool-input-delta', id: 'x', delta: '{"a"' },
    ])
    expect([parts, calls]).toEqual([[], []])
    expect(hasBegun(draft)).toBe(true)
  })

  test('thousands of calls under one id are put together without going over all of them for each', () => {
    const count = 40_000
    const stream = Array.from({ length: count }, (_, n) => [
      { type: 'tool-input-start', id: '0', toolName: 'refund' },
      { type: 'tool-input-delta', id: '0', delta: `{"n":${n}}` },
      own('0', 'refund', `{"n":${n}}`),
    ]).flat()
    const before = process.cpuUsage()
    const { calls } = build(stream)
    const { user, system } = process.cpuUsage(before)
    expect(calls.map(({ input }) => input)).toEqual(stream.flatMap((part) => ('input' in part ? [part.input] : [])))
    expect((user + system) / 1_000).toBeLessThan(2_000)
  })

  test('under one id are different calls when they ask for different things', () => {
    const { calls } = build([
      own('0', 'refund', '{"a":1}'),
      own('0', 'refund', '{"a":2}'),
      own('0', 'search', '{"a":2}'),
    ])
    expect(calls.map(({ callId, providerCallId }) => [callId, providerCallId])).toEqual([
      ['c1', '0'],
      ['c2', '0'],
      ['c3', '0'],
    ])
  })

  test('sent twice are one call', () => {
    expect(build([own('x', 'refund', '{}'), own('x', 'refund', '{}')]).calls).toHaveLength(1)
  })

  test('without an id or a name are calls all the same', () => {
    const { calls } = build([own(undefined, 'roll', '{}'), own('', 'roll', '{}'), own(7, undefined, '{}')])
    expect(calls.map(({ providerCallId, name }) => [providerCallId, name])).toEqual([
      ['c1', 'roll'],
      ['c2', 'roll'],
      ['c3', ''],
    ])
  })

  test('are not answered by the host', () => {
    const { parts } = build([
      own('x', 'refund', '{}'),
      { type: 'tool-result', toolCallId: 'x', toolName: 'refund', result: 1 },
    ])
    expect(parts).toEqual([{ type: 'call', callId: 'c1' }])
  })

  test('input without an announced call is left out', () => {
    expect(build([{ type: 'tool-input-delta', id: 'x', delta: '{' }]).chunks).toEqual([])
    expect(
      build([
        { type: 'tool-input-delta', delta: 7 },
        { type: 'tool-input-end', id: 'x' },
      ]).draft.items,
    ).toEqual([])
  })
})
