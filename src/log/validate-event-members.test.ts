import { expect, test } from 'vitest'
import type { NewEvent } from './events.ts'
import { validateEvent } from './validate-event.ts'

const image = { blob: 'ab'.repeat(32), mediaType: 'image/png', size: 3 }
const metadata = { p: { cached: true } }
const opened = (op: object) => ({ type: 'flow_opened', content: { position: 1, op, asked: 1, id: 'op-1' } })
const written = (part: object) => ({
  type: 'assistant_msg',
  content: {
    ...{ turnId: 't1', messageId: 'm1', seen: 1, parts: [part], finishReason: 'stop', status: 'complete', object: 1 },
    ...{ model: { provider: 'p', modelId: 'm' }, restoredAt: 1 },
    usage: { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 },
  },
})
const said = {
  type: 'user_msg',
  content: {
    ...{
      turnId: 't1',
      message: { parts: [{ type: 'text', text: 'hi' }] },
      who: 'ann',
      key: 'k',
      data: 1,
      restoredAt: 5,
    },
    options: { maxSteps: 1, maxTokens: 1, maxParallelCalls: 1, maxDepth: 0, untilTool: 'x', output: false },
  },
}
const message = written({ type: 'call', callId: 'c' })
const ended = (content: object) => ({ type: 'tool_result', content: { callId: 'c1', outcome: 'ran', ...content } })
const outcome = (content: object) => ({ type: 'flow_outcome', content: { position: 1, who: 'ann', ...content } })
const failure = { ok: false, error: 'no', userFacing: true }

/** Where the members of a value are, with what is in them. */
function pathsIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => [[...path, key], ...pathsIn(member, [...path, key])])
}

function changed(event: object, [key, ...rest]: readonly string[], change: (member: unknown) => unknown): object {
  const copy = (Array.isArray(event) ? [...event] : { ...event }) as Record<string, unknown>
  const made = rest.length > 0 ? changed(copy[key!] as object, rest, change) : change(copy[key!])
  if (made === undefined) delete copy[key!]
  else copy[key!] = made
  return copy
}

function isValid(event: object): boolean {
  try {
    return validateEvent(event as NewEvent) !== null
  } catch {
    return false
  }
}

const wrong = [[], {}, true, 'x', -1, 0.5, null]

/** The members that may be left out, and those that may be anything at all. Every other one is needed, or of one kind. */
function loose(event: object, isPart: boolean): string {
  // The fields of providers are theirs.
  const all = pathsIn((event as { content: object }).content, ['content']).filter((path) => !path.includes('p'))
  const paths = isPart ? all.filter((path) => path[1] === 'parts' && path.length > 3) : all
  const told = (found: readonly string[][]) => found.map((path) => path.slice(1).join('.')).join(' ')
  const optional = paths.filter((path) => isValid(changed(event, path, () => undefined)))
  const any = paths.filter((path) => wrong.every((value) => isValid(changed(event, path, () => value))))
  return `${told(optional)} | ${told(any)}`.trim()
}

test.each<[object, string]>([
  [
    said,
    'key data restoredAt options.maxSteps options.maxTokens options.maxParallelCalls options.maxDepth options.untilTool options.output | data',
  ],
  [
    message,
    'object restoredAt usage.inputTokens usage.outputTokens usage.cacheReadTokens usage.cacheWriteTokens usage.reasoningTokens | object',
  ],
  [written({ type: 'text', text: 'a', providerMetadata: metadata }), 'parts.0.providerMetadata |'],
  [written({ type: 'reasoning', text: 'a', providerMetadata: metadata }), 'parts.0.providerMetadata |'],
  [written({ type: 'source', source: { url: 'https://example.com' } }), 'parts.0.source.url | parts.0.source.url'],
  [
    written({ type: 'file', mediaType: 'image/png', data: image, filename: 'a', providerMetadata: metadata }),
    'parts.0.filename parts.0.providerMetadata | parts.0.providerMetadata',
  ],
  [
    written({ type: 'provider_call', providerCallId: 'p', name: 'n', args: 1, providerMetadata: metadata }),
    'parts.0.providerMetadata | parts.0.args',
  ],
  [
    written({
      type: 'provider_result',
      providerCallId: 'p',
      name: 'n',
      result: 1,
      isError: true,
      providerMetadata: metadata,
    }),
    'parts.0.isError parts.0.providerMetadata | parts.0.result',
  ],
  [written({ type: 'call', callId: 'c', providerMetadata: metadata }), 'parts.0.providerMetadata |'],
  [written({ type: 'plain_call', providerCallId: 'p', name: 'n', args: 1 }), '| parts.0.args'],
  [opened({ kind: 'suspend', tag: 1, schema: true }), 'op.schema id | op.tag op.schema'],
  [opened({ kind: 'request', request: 'pay', payload: 1 }), 'id | op.payload'],
  [opened({ kind: 'step', name: 'work', input: 1, ifInterrupted: 'rerun' }), 'id | op.input'],
  [opened({ kind: 'sleep', ms: 0 }), 'id |'],
  [opened({ kind: 'agent', agent: 'a', id: 'c', message: 'go', data: 1 }), 'op.data id | op.data'],
  [ended({ ok: true, result: 1 }), 'outcome | result'],
  [ended(failure), 'outcome userFacing |'],
  [outcome({ ok: true, value: 1 }), 'who | value'],
  [outcome({ ...failure, code: 'c', outcome: 'ran' }), 'who userFacing code outcome |'],
  [{ type: 'flow_ended', content: { status: 'done', result: 1 } }, '| result'],
  [{ type: 'flow_ended', content: { status: 'failed', error: 'no', userFacing: true } }, 'userFacing |'],
])('the members of %j are needed, and of one kind, but for some', (event, expected) => {
  expect(isValid(event)).toBe(true)
  const isPart = (event as NewEvent).type === 'assistant_msg' && event !== message
  expect(loose(event, isPart)).toBe(expected)
})

test('numbers have the least value that they can have', () => {
  expect([-1, 0].map((ms) => isValid(opened({ kind: 'sleep', ms })))).toEqual([false, true])
})
