import { describe, expect, test } from 'vitest'
import {
  called,
  cancelled,
  ended,
  failed,
  marked,
  regenerated,
  replacing,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { NewEvent } from '../log/events.ts'
import { emptyState } from '../log/state.ts'
import { trimState } from '../log/trim-state.ts'
import { nothingLive } from './live-events.ts'
import { viewOf } from './view-of.ts'

const calling = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1')]

function shown(...events: NewEvent[]) {
  return viewOf('story', stateOf(events))
}

test('an empty log is an idle conversation without messages', () => {
  expect(viewOf('story', emptyState)).toEqual({
    conversationId: 'story',
    seq: 0,
    title: null,
    phase: 'idle',
    state: null,
    activity: null,
    messages: [],
    notes: [],
    before: null,
    pending: [],
    children: { waiting: [], pending: [] },
    drafts: [],
    progress: {},
    log: emptyState,
  })
})

test('older messages are read from before the first that is shown, or from the end where none is', () => {
  const log = stateOf([said('t1'), ended('t1')])
  expect(viewOf('story', { ...log, hasOlder: true }).before).toBe(1)
  expect(viewOf('story', { ...log, turns: [], hasOlder: true }).before).toBe(3)
  expect(viewOf('story', { ...log, turns: [] }).before).toBe(null)
})

describe('messages', () => {
  test('are those of people and models, in the order of the log', () => {
    const { messages } = shown(said('t1'), replied('t1', 'm1', 1), ended('t1'))
    expect(messages).toMatchObject([
      { role: 'user', turnId: 't1', seq: 1, at: 1_000, who: 'ann', isQueued: false },
      { role: 'assistant', turnId: 't1', messageId: 'm1', seq: 2, at: 2_000, status: 'complete' },
    ])
  })

  test('that were regenerated are not shown', () => {
    const { messages } = shown(said('t1'), replied('t1', 'm1', 1), regenerated('m1'), replied('t1', 'm2', 3))
    expect(messages.map((message) => ('messageId' in message ? message.messageId : ''))).toEqual(['', 'm2'])
  })

  test('that are withheld are there, and empty', () => {
    const { messages } = shown(said('t1'), marked('m1', 'strict'), replied('t1', 'm1', 1, { object: 42 }))
    expect(messages[1]).toMatchObject({ messageId: 'm1', parts: [], withheld: { hook: 'strict' } })
    expect(messages[1]).not.toHaveProperty('object')
  })

  test('of a queued turn say so; one cancelled in the queue is gone', () => {
    const queued = [said('t1'), said('t2')]
    expect(shown(...queued).messages).toMatchObject([{ isQueued: false }, { isQueued: true }])
    expect(shown(...queued, cancelled('t2'), ended('t2', 'cancelled')).messages).toHaveLength(1)
  })

  test('carry the object of a structured output', () => {
    const { messages } = shown(said('t1'), replied('t1', 'm1', 1, { object: null }))
    expect(messages[1]).toHaveProperty('object', null)
  })
})

describe('calls', () => {
  const phases: [string, NewEvent[], object][] = [
    ['queued before it starts', [], { phase: 'queued', end: null }],
    ['running', [started('c1')], { phase: 'running', end: null }],
    ['ended well', [started('c1'), succeeded('c1')], { phase: 'ended', end: { ok: true, result: 'done' } }],
    [
      'ended badly',
      [started('c1'), failed('c1', 'no', 'unknown')],
      { phase: 'ended', end: { ok: false, error: 'no', outcome: 'unknown' } },
    ],
  ]
  test.each(phases)('are shown %s', (_, events, expected) => {
    const message = shown(...calling, ...events).messages[1]
    expect(message?.parts[1]).toMatchObject({
      type: 'call',
      callId: 'c1',
      name: 'refund',
      args: { cents: 5 },
      ...expected,
    })
  })

  test('that wait are pending, with their prompt and deadline', () => {
    const asking = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
    const waiting = suspended('c1', 'approval', { prompt: 'Pay?', expiresInMs: 500 })
    const view = shown(...asking, waiting)
    expect(view.phase).toBe('waiting')
    expect(view.pending).toMatchObject([
      {
        conversationId: 'story',
        turnId: 't1',
        callId: 'c1',
        round: 1,
        kind: 'approval',
        prompt: 'Pay?',
        expiresAt: 4_500,
      },
    ])
    const edited = { before: { cents: 5 }, after: { cents: 4 } }
    const answered = shown(...asking, waiting, resolved('c1', 'approval', 'resolved', { value: true, edited }))
    expect(answered.pending).toEqual([])
    expect(answered.messages[1]?.parts[1]).toMatchObject({ edited })
  })
})

describe('what is live', () => {
  const draft = { turnId: 't1', messageId: 'm2', n: 1, parts: [] }

  test('is shown beside a log it belongs to', () => {
    const view = viewOf('story', stateOf([...calling, started('c1')]), {
      ...nothingLive,
      activity: 'executing_tools',
      drafts: [draft],
      progress: { c1: 50 },
    })
    expect(view).toMatchObject({ activity: 'executing_tools', drafts: [draft], progress: { c1: 50 } })
  })

  test('is not shown once the log has it, or has gone on without it', () => {
    const live = { ...nothingLive, activity: 'streaming' as const, drafts: [draft], progress: { c1: 50 } }
    const over = viewOf(
      'story',
      stateOf([...calling, started('c1'), succeeded('c1'), replied('t1', 'm2', 5), ended('t1')]),
      live,
    )
    expect(over).toMatchObject({ activity: null, drafts: [], progress: {} })
    const without = viewOf('story', stateOf([said('t1'), ended('t1', 'failed')]), live)
    expect(without).toMatchObject({ activity: null, drafts: [], progress: {} })
  })
})

describe('a turn that replaces others', () => {
  const refunded = [...calling, started('c1'), succeeded('c1'), ended('t1'), replacing(1, 't2'), said('t2')]

  test('is shown alone, and says how many variants there are and where the one before it ends', () => {
    const { messages } = shown(...refunded, said('t2'))
    expect(messages).toMatchObject([{ turnId: 't2', variants: 2, previousSeq: 6 }, { turnId: 't2' }])
    expect(messages[1]).not.toHaveProperty('variants')
    expect(shown(said('t1')).messages[0]).not.toHaveProperty('variants')
  })

  test('says of a call that waits that the same was done before', () => {
    const asked = [replied('t2', 'm2', 8, { calls: ['c2', 'c3'] }), called('c2', { turnId: 't2', gated: true })]
    const other = called('c3', { turnId: 't2', gated: true, args: { order: 'another' } })
    const { pending } = shown(...refunded, ...asked, other, suspended('c2', 'approval'), suspended('c3', 'approval'))
    expect(pending.map(({ callId, doneBefore }) => [callId, doneBefore])).toEqual([
      ['c2', { callId: 'c1', outcome: 'done' }],
      ['c3', undefined],
    ])
  })
})

test('a call of which only the beginning is shown names the events that have the rest: its own, its question, the answer and the result', () => {
  const args = { text: 'x'.repeat(100_000) }
  const asked = [called('c1', { gated: true, args }), suspended('c1', 'approval'), resolved('c1', 'approval')]
  const events = [...calling.slice(0, 2), ...asked, started('c1'), succeeded('c1')]
  const { messages } = viewOf('story', trimState(stateOf(events), 10_000))
  const call = messages.at(-1)!.parts.find((part) => part.type === 'call')
  expect(call).toMatchObject({ leftOut: { seqs: [3, 4, 5, 7] } })
})
