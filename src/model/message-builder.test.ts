import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { build, cyclic, delta, end, start } from '../../test/support/build-message.ts'
import { encode } from '../log/codec.ts'
import { hasBegun } from './message-draft.ts'

const png = { type: 'file', mediaType: 'image/png' }
const bytes = new Uint8Array([1, 2, 3])
const deep = '['.repeat(300) + ']'.repeat(300)

describe('parts of a message', () => {
  test.each<[string, unknown[], unknown[]]>([
    [
      'text comes together from its deltas',
      [start('text', 'a'), delta('text', 'a', 'Hel'), delta('text', 'a', 'lo'), end('text', 'a')],
      [{ type: 'text', text: 'Hello' }],
    ],
    [
      'two texts that are written at once stay apart, in the order they began in',
      [start('text', 'a'), start('text', 'b'), delta('text', 'b', '2'), delta('text', 'a', '1'), end('text', 'b')],
      [
        { type: 'text', text: '1' },
        { type: 'text', text: '2' },
      ],
    ],
    [
      'a text begun again under the same id is another text',
      [start('text', '0'), delta('text', '0', '1'), end('text', '0'), start('text', '0'), delta('text', '0', '2')],
      [
        { type: 'text', text: '1' },
        { type: 'text', text: '2' },
      ],
    ],
    ['a delta without a start begins a text', [delta('text', 'a', 'hi')], [{ type: 'text', text: 'hi' }]],
    [
      'deltas without an id belong to the text that is open',
      [
        start('text', 'a'),
        { type: 'text-delta', delta: 'h' },
        { type: 'text-delta', delta: 'i' },
        { type: 'text-end' },
      ],
      [{ type: 'text', text: 'hi' }],
    ],
    [
      'deltas without an id belong to the newest text that is open',
      [
        start('text', 'a'),
        start('text', 'b'),
        { type: 'text-delta', delta: '2' },
        end('text', 'b'),
        { type: 'text-delta', delta: '1' },
      ],
      [
        { type: 'text', text: '1' },
        { type: 'text', text: '2' },
      ],
    ],
    [
      'a start that comes twice changes nothing',
      [start('text', 'a'), delta('text', 'a', 'h'), start('text', 'a'), delta('text', 'a', 'i')],
      [{ type: 'text', text: 'hi' }],
    ],
    ['a text without content is left out', [start('text', 'a'), delta('text', 'a', ''), end('text', 'a')], []],
    [
      'deltas that are no strings are left out',
      [
        start('text', 'a'),
        ...[7, null, undefined, { x: 1 }].map((value) => ({ type: 'text-delta', id: 'a', delta: value })),
      ],
      [],
    ],
    [
      'reasoning keeps a signature that comes at its start',
      [start('reasoning', 'r', { p: { signature: 's' } }), delta('reasoning', 'r', 'hm'), end('reasoning', 'r')],
      [{ type: 'reasoning', text: 'hm', providerMetadata: { p: { signature: 's' } } }],
    ],
    [
      'reasoning keeps a signature that comes with an empty delta',
      [start('reasoning', 'r'), delta('reasoning', 'r', 'hm'), delta('reasoning', 'r', '', { p: { signature: 's' } })],
      [{ type: 'reasoning', text: 'hm', providerMetadata: { p: { signature: 's' } } }],
    ],
    [
      'reasoning keeps a signature that comes at its end, beside what came before',
      [start('reasoning', 'r', { p: { itemId: 'i', blob: null } }), end('reasoning', 'r', { p: { blob: 'b' }, q: 1 })],
      [{ type: 'reasoning', text: '', providerMetadata: { p: { itemId: 'i', blob: 'b' }, q: 1 } }],
    ],
    [
      'redacted reasoning has no text and stays',
      [start('reasoning', 'r', { p: { redactedData: 'x' } }), end('reasoning', 'r')],
      [{ type: 'reasoning', text: '', providerMetadata: { p: { redactedData: 'x' } } }],
    ],
    ['reasoning with nothing in it is left out', [start('reasoning', 'r'), end('reasoning', 'r')], []],
    [
      'text keeps what the provider says about it',
      [start('text', 'a', { p: { itemId: 'i' } }), delta('text', 'a', 'x')],
      [{ type: 'text', text: 'x', providerMetadata: { p: { itemId: 'i' } } }],
    ],
    [
      'an empty text is left out even if it has metadata, because providers refuse it',
      [start('text', 'a', { p: { id: 'x' } }), end('text', 'a'), start('text', 'b'), delta('text', 'b', 'hi')],
      [{ type: 'text', text: 'hi' }],
    ],
    [
      'metadata that is not JSON is left out',
      [delta('text', 'a', 'x', { p: 1n }), delta('text', 'a', 'y', 'nonsense'), delta('text', 'a', 'z', cyclic())],
      [{ type: 'text', text: 'xyz' }],
    ],
    [
      'a source is kept as it is',
      [{ type: 'source', sourceType: 'url', id: 's', url: 'https://x', title: undefined }],
      [{ type: 'source', source: { sourceType: 'url', id: 's', url: 'https://x' } }],
    ],
    ['a source that is not JSON is left out', [{ type: 'source', id: 1n }], []],
    ['a file of bytes (v3)', [{ ...png, data: bytes }], [{ ...png, data: bytes }]],
    ['a file in base64 (v3)', [{ ...png, data: 'AQID' }], [{ ...png, data: bytes }]],
    ['a file of bytes (v4)', [{ ...png, data: { type: 'data', data: bytes } }], [{ ...png, data: bytes }]],
    ['a file in base64 (v4)', [{ ...png, data: { type: 'data', data: 'AQID' } }], [{ ...png, data: bytes }]],
    [
      'a file elsewhere (v4)',
      [{ ...png, data: { type: 'url', url: new URL('https://x/y') } }],
      [{ ...png, data: 'https://x/y' }],
    ],
    ['a file as a data URL', [{ ...png, data: 'data:image/png;base64,AQID' }], [{ ...png, data: bytes }]],
    [
      'a file of unknown type',
      [{ type: 'file', data: bytes }],
      [{ type: 'file', mediaType: 'application/octet-stream', data: bytes }],
    ],
    [
      'files without data are left out',
      [png, { ...png, data: '' }, { ...png, data: { type: 'data' } }, { ...png, data: 7 }, { ...png, data: cyclic() }],
      [],
    ],
    [
      'a call that the host runs, and its result',
      [
        {
          type: 'tool-call',
          toolCallId: 'x',
          toolName: 'search',
          input: '{"q":1}',
          providerExecuted: true,
          providerMetadata: { p: { itemId: 'i' } },
        },
        { type: 'tool-result', toolCallId: 'x', toolName: 'search', result: [1], providerMetadata: { p: { a: 1 } } },
      ],
      [
        {
          type: 'provider_call',
          providerCallId: 'x',
          name: 'search',
          args: { q: 1 },
          providerMetadata: { p: { itemId: 'i' } },
        },
        {
          type: 'provider_result',
          providerCallId: 'x',
          name: 'search',
          result: [1],
          providerMetadata: { p: { a: 1 } },
        },
      ],
    ],
    [
      'a dynamic one, whose result is an error',
      [
        { type: 'tool-input-start', id: 'x', toolName: 'mcp', providerExecuted: true, dynamic: true },
        { type: 'tool-input-delta', id: 'x', delta: '{}' },
        { type: 'tool-call', toolCallId: 'x', toolName: 'mcp', input: '{}', dynamic: true },
        { type: 'tool-result', toolCallId: 'x', toolName: 'mcp', result: 'no', isError: true, dynamic: true },
      ],
      [
        { type: 'provider_call', providerCallId: 'x', name: 'mcp', args: {} },
        { type: 'provider_result', providerCallId: 'x', name: 'mcp', result: 'no', isError: true },
      ],
    ],
    [
      'a preview is replaced by the result',
      [
        { type: 'tool-result', toolCallId: 'x', toolName: 'draw', result: 'half', preliminary: true },
        delta('text', 'a', 'there'),
        { type: 'tool-result', toolCallId: 'x', toolName: 'draw', result: 'whole' },
      ],
      [
        { type: 'provider_result', providerCallId: 'x', name: 'draw', result: 'whole' },
        { type: 'text', text: 'there' },
      ],
    ],
    [
      'arguments of the host that are not JSON are kept as text, and a result that is not is null',
      [
        { type: 'tool-call', toolCallId: 'x', toolName: 'code', input: 'print(1', providerExecuted: true },
        { type: 'tool-call', toolCallId: 'y', toolName: 'code', input: '', providerExecuted: true },
        { type: 'tool-call', toolCallId: 'z', toolName: 'code', input: deep, providerExecuted: true },
        { type: 'tool-result', toolCallId: 'x', toolName: 'code', result: 1n },
      ],
      [
        { type: 'provider_call', providerCallId: 'x', name: 'code', args: 'print(1' },
        { type: 'provider_call', providerCallId: 'y', name: 'code', args: {} },
        { type: 'provider_call', providerCallId: 'z', name: 'code', args: deep },
        { type: 'provider_result', providerCallId: 'x', name: 'code', result: null },
      ],
    ],
    ['a result without an id is left out', [{ type: 'tool-result', toolName: 'x', result: 1 }], []],
    [
      'what has no place in a message is left out',
      [
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata', id: 'x' },
        { type: 'ping' },
        { type: 'raw', rawValue: { secret: 1 } },
        { type: 'custom', kind: 'openai.compaction' },
        { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: bytes } },
        { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'x' },
        { type: 'from-the-future', text: 'x' },
        {},
        null,
        undefined,
        'text',
        [{ type: 'text-delta', id: 'a', delta: 'x' }],
      ],
      [],
    ],
  ])('%s', (_, stream, expected) => {
    expect(build(stream).parts).toEqual(expected)
  })
})

test('the bytes of a file are ours, whatever the provider does with its buffer', () => {
  const buffer = Buffer.from([1, 2, 3])
  const { parts } = build([{ ...png, data: buffer }])
  buffer.fill(0)
  expect(parts).toEqual([{ ...png, data: bytes }])
})

describe('chunks', () => {
  test('name blocks by ids of ours, because providers repeat theirs', () => {
    const { chunks } = build([
      delta('text', '0', 'a'),
      end('text', '0'),
      delta('reasoning', '0', 'b'),
      delta('text', '0', 'c'),
      delta('text', '0', ''),
    ])
    expect(chunks).toEqual([
      { type: 'text_delta', id: 'text-0', delta: 'a' },
      { type: 'reasoning_delta', id: 'reasoning-0', delta: 'b' },
      { type: 'text_delta', id: 'text-1', delta: 'c' },
    ])
  })

  test('calls that the host runs are not shown as input', () => {
    const { chunks } = build([
      { type: 'tool-input-start', id: 'x', toolName: 'search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'x', delta: '{}' },
      { type: 'tool-call', toolCallId: 'x', toolName: 'search', input: '{}', providerExecuted: true },
    ])
    expect(chunks).toEqual([])
  })

  const stream = [
    delta('reasoning', 'r', 'secret', { p: { signature: 's' } }),
    delta('text', 'a', 'secret '),
    delta('text', 'a', 'plain'),
    { type: 'tool-call', toolCallId: 'x', toolName: 'refund', input: '"secret"' },
  ]

  test('transformed text is the text of the message; reasoning and input stay as they were signed and meant', () => {
    const { chunks, parts, calls } = build(stream, (chunk) => ({
      ...chunk,
      delta: chunk.delta.replace('secret', '***'),
    }))
    expect(chunks.map((chunk) => chunk.delta)).toEqual(['***', '*** ', 'plain', '"***"'])
    expect(parts).toMatchObject([
      { type: 'reasoning', text: 'secret' },
      { type: 'text', text: '*** plain' },
      { type: 'call' },
    ])
    expect(calls[0]!.input).toBe('"secret"')
  })

  test('dropped text is not in the message', () => {
    const { chunks, parts } = build(stream, (chunk) => (chunk.delta.includes('secret') ? undefined : chunk))
    expect(chunks).toEqual([{ type: 'text_delta', id: 'text-0', delta: 'plain' }])
    expect(parts).toMatchObject([{ type: 'reasoning' }, { type: 'text', text: 'plain' }, { type: 'call' }])
  })
})

describe('hasBegun', () => {
  test.each<[string, unknown[], boolean]>([
    ['nothing', [], false],
    [
      'the frame of a stream',
      [{ type: 'stream-start', warnings: [] }, { type: 'response-metadata' }, { type: 'ping' }],
      false,
    ],
    ['an empty text', [start('text', 'a'), delta('text', 'a', '')], false],
    ['reasoning that was only announced', [start('reasoning', 'r', { p: { itemId: 'x' } })], false],
    ['a call that was only announced', [{ type: 'tool-input-start', id: 'x', toolName: 'refund' }], false],
    ['a finish', [{ type: 'finish', finishReason: { unified: 'stop' } }], false],
    ['text', [delta('text', 'a', 'x')], true],
    ['reasoning', [delta('reasoning', 'r', 'x')], true],
    [
      'a piece of input',
      [
        { type: 'tool-input-start', id: 'x' },
        { type: 'tool-input-delta', id: 'x', delta: '{' },
      ],
      true,
    ],
    ['a call without arguments', [{ type: 'tool-call', toolCallId: 'x', toolName: 'y', input: '' }], true],
    ['a source', [{ type: 'source', url: 'https://x' }], true],
    ['a file', [{ ...png, data: bytes }], true],
    ['a result', [{ type: 'tool-result', toolCallId: 'x', toolName: 'y', result: 1 }], true],
  ])('of %s: %#', (_, stream, expected) => {
    expect(hasBegun(build(stream).draft)).toBe(expected)
  })
})

test('whatever a provider sends, the message can be stored and its calls and parts agree', () => {
  const id = fc.oneof(fc.constantFrom('0', 'x', '', '__proto__'), fc.anything())
  const part = fc.record(
    {
      type: fc.constantFrom(
        ...['text', 'reasoning', 'tool-input'].flatMap((kind) => [`${kind}-start`, `${kind}-delta`, `${kind}-end`]),
        ...['tool-call', 'tool-result', 'source', 'file', 'finish', 'custom', 'raw', '__proto__'],
      ),
      id,
      toolCallId: id,
      toolName: fc.oneof(fc.string(), fc.anything()),
      delta: fc.oneof(fc.string(), fc.anything()),
      input: fc.oneof(fc.json(), fc.anything()),
      result: fc.anything({ withBigInt: true }),
      providerExecuted: fc.boolean(),
      providerMetadata: fc.anything({ withNullPrototype: true }),
      data: fc.anything({ withTypedArray: true }),
      finishReason: fc.anything(),
      usage: fc.anything(),
    },
    { requiredKeys: ['type'] },
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (stream) => {
      const { parts, calls, chunks, draft } = build(stream)
      encode(parts.map((item) => (item.type === 'file' ? { ...item, data: '' } : item)))
      encode(calls)
      encode(chunks)
      encode(draft.finish)
      const named = parts.flatMap((item) => (item.type === 'call' ? [item.callId] : []))
      expect(calls.map((call) => call.callId)).toEqual(named)
      expect(new Set(named).size).toBe(named.length)
      expect(calls.every((call) => call.providerCallId !== '')).toBe(true)
    }),
    { numRuns: 500, seed: 20_30 },
  )
})
