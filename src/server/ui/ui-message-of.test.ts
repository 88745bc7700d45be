import { describe, expect, test } from 'vitest'
import {
  called,
  cancelled,
  ended,
  failed,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { viewOf } from '../../view/view-of.ts'
import { uiMessageOf, uiTurnOf } from './ui-turn-of.ts'

function shown(...events: NewEvent[]) {
  const turn = uiTurnOf(viewOf('story', stateOf(events)), 't1', (_, blob) => `/files/${blob}`)
  if (!turn || turn === 'between') throw new Error('there is nothing to show')
  return uiMessageOf(turn)
}

const calling = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] })]
const gated = [
  ...calling,
  called('c1', { gated: true }),
  suspended('c1', 'approval', { prompt: 'Pay?', expiresInMs: 500 }),
]
const client = [...calling, called('c1', { executor: 'client' }), suspended('c1', 'client_exec')]
const gatedClient = [...calling, called('c1', { executor: 'client', gated: true }), suspended('c1', 'approval')]
const human = [...calling, called('c1', { executor: 'human' }), suspended('c1', 'elicitation')]

describe('a call is shown', () => {
  const stories: [string, NewEvent[], object][] = [
    ['while it runs', [...calling, called('c1'), started('c1')], { state: 'input-available', input: { cents: 5 } }],
    ['with its output', [...calling, called('c1'), started('c1'), succeeded('c1')], { output: 'done' }],
    [
      'with what went wrong',
      [...calling, called('c1'), started('c1'), failed('c1', 'no money')],
      { state: 'output-error', errorText: 'no money' },
    ],
    ['waiting for approval', gated, { state: 'approval-requested', approval: { id: 'c1:1' } }],
    [
      'approved, and as it runs: with the edited arguments',
      [
        ...gated,
        resolved('c1', 'approval', 'resolved', { value: true, edited: { before: { cents: 5 }, after: { cents: 4 } } }),
      ],
      { state: 'approval-responded', approval: { id: 'c1:1', approved: true }, input: { cents: 4 } },
    ],
    [
      'denied, with the reason',
      [...gated, resolved('c1', 'approval', 'denied', { value: { reason: 'too much' } })],
      { state: 'output-denied', approval: { id: 'c1:1', approved: false, reason: 'too much' } },
    ],
    [
      'denied with a plain no',
      [...gated, resolved('c1', 'approval', 'resolved', { value: false })],
      { state: 'output-denied', approval: { id: 'c1:1', approved: false } },
    ],
    [
      'expired without a decision',
      [...gated, resolved('c1', 'approval', 'expired')],
      { state: 'output-error', errorText: 'tool call expired: no response', approval: { id: 'c1:1' } },
    ],
    [
      'cancelled',
      [...gated, cancelled('t1'), resolved('c1', 'approval', 'cancelled'), ended('t1', 'cancelled')],
      { state: 'output-error', errorText: 'tool call cancelled' },
    ],
    ['waiting for the page', client, { state: 'input-available' }],
    ['not yet for the page to run', gatedClient, { state: 'approval-requested' }],
    [
      'for the page to run, once approved',
      [...gatedClient, resolved('c1', 'approval'), suspended('c1', 'client_exec', { round: 2 })],
      { state: 'input-available', approval: { id: 'c1:1', approved: true } },
    ],
    [
      'with what the page gave',
      [...client, resolved('c1', 'client_exec', 'resolved', { value: { ok: true, result: 'Rome' } })],
      { state: 'output-available', output: 'Rome' },
    ],
    ['as a question', human, { state: 'input-available' }],
    [
      'with the answer',
      [...human, resolved('c1', 'elicitation', 'resolved', { value: 'blue' })],
      { state: 'output-available', output: 'blue' },
    ],
    [
      'interrupted, and approved before: a person must decide',
      [...gated, resolved('c1', 'approval'), started('c1'), suspended('c1', 'recovery', { round: 2 })],
      { state: 'input-available', approval: { id: 'c1:1', approved: true } },
    ],
    [
      'as one that was never made',
      [
        said('t1'),
        replied('t1', 'm1', 1, { parts: [{ type: 'plain_call', providerCallId: 'p', name: 'refund', args: 1 }] }),
      ],
      { state: 'output-error', errorText: 'This call was not made.' },
    ],
  ]
  test.each(stories)('%s', (_, events, expected) => {
    const call = shown(...events).parts.find(({ type }) => type === 'tool-refund')
    expect(call).toMatchObject(expected)
    const { approval } = call as { approval?: object }
    expect(approval).toEqual((expected as { approval?: object }).approval ?? approval)
  })
})

test('what a person is asked is beside the call, and says how it was answered', () => {
  const question = (events: NewEvent[]) => shown(...events).parts.find(({ type }) => type === 'data-question')
  expect(question(gated)).toEqual({
    type: 'data-question',
    id: 'c1:1',
    data: {
      callId: 'c1',
      round: 1,
      kind: 'approval',
      tool: 'refund',
      prompt: 'Pay?',
      schema: { type: 'boolean' },
      expiresAt: 4_500,
      status: 'open',
    },
  })
  for (const status of ['resolved', 'denied', 'expired', 'cancelled'] as const)
    expect(question([...gated, resolved('c1', 'approval', status)])).toMatchObject({ data: { status } })
  expect(question(client)).toBeUndefined()
})

describe('the end of a turn is told', () => {
  const secret = 'internal_error: SELECT * FROM keys'
  const ends: [string, NewEvent, object][] = [
    ['completed', ended('t1'), { status: 'completed' }],
    ['halted', ended('t1', 'halted', 'max_steps'), { status: 'halted', reason: 'max_steps' }],
    ['cancelled', ended('t1', 'cancelled'), { status: 'cancelled' }],
    [
      'failed',
      ended('t1', 'failed', 'model_failed: https://host/?key=1'),
      { status: 'failed', reason: 'model_failed' },
    ],
    ['failed inside', ended('t1', 'failed', secret), { status: 'failed', reason: 'internal_error' }],
    ['failed without a word', ended('t1', 'failed', null), { status: 'failed', reason: 'internal_error' }],
    [
      'failed with a word of its own',
      ended('t1', 'failed', 'constructor'),
      { status: 'failed', reason: 'internal_error' },
    ],
  ]
  test.each(ends)('%s', (_, end, metadata) => {
    expect(shown(said('t1'), replied('t1', 'm1', 1), end).metadata).toEqual(metadata)
  })
})

test('steps are the messages of the model, and a turn that ends with calls ends with a step of its own', () => {
  const types = (...events: NewEvent[]) => shown(...events).parts.map(({ type }) => type)
  const done = [...calling, called('c1'), started('c1'), succeeded('c1')]
  expect(types(...done, replied('t1', 'm2', 5))).toEqual(['step-start', 'text', 'tool-refund', 'step-start', 'text'])
  expect(types(...done, ended('t1'))).toEqual(['step-start', 'text', 'tool-refund', 'step-start'])
})

test('a message in the middle of its commit is not shown yet', () => {
  expect(uiTurnOf(viewOf('story', stateOf(calling)), 't1', () => '')).toBe('between')
  expect(uiTurnOf(viewOf('story', stateOf(calling)), 't2', () => '')).toBeNull()
})

test('what comes whole is shown as it is, and provider metadata only in the form that clients take', () => {
  const parts = shown(
    said('t1'),
    replied('t1', 'm1', 1, {
      parts: [
        {
          type: 'source',
          source: { sourceType: 'document', id: 's', mediaType: 'application/pdf', filename: 'a.pdf' },
        },
        { type: 'source', source: { sourceType: 'url' } },
        { type: 'file', mediaType: 'image/png', data: { blob: 'b'.repeat(64), mediaType: 'image/png', size: 1 } },
        { type: 'reasoning', text: 'Hm.', providerMetadata: { test: { signature: 's' }, odd: 'text' } },
        { type: 'provider_call', providerCallId: 'p', name: 'search', args: { q: 1 } },
        { type: 'provider_result', providerCallId: 'p', name: 'search', result: { found: 0 }, isError: true },
      ],
    }),
  ).parts
  expect(parts).toEqual([
    { type: 'step-start' },
    {
      type: 'reasoning',
      id: 'm1:reasoning-0',
      text: 'Hm.',
      state: 'done',
      providerMetadata: { test: { signature: 's' } },
    },
    { type: 'source-document', sourceId: 's', mediaType: 'application/pdf', title: 'a.pdf', filename: 'a.pdf' },
    { type: 'file', mediaType: 'image/png', url: `/files/${'b'.repeat(64)}` },
    {
      type: 'tool-search',
      toolCallId: 'm1:4',
      input: { q: 1 },
      state: 'output-error',
      errorText: '{"found":0}',
      providerExecuted: true,
    },
  ])
})
