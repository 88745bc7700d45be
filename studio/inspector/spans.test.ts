import type { ModelCallSummary } from 'perdure/client'
import { describe, expect, test } from 'vitest'
import { callsBefore } from './attempts.ts'
import { called, ended, madeLog, resolved, said, suspended, wrote } from './made-log.ts'
import { turnSpans, withPhase } from './spans.ts'
import { length, timeScale } from './time-scale.ts'

const day = 86_400_000
const after = <T extends readonly [string, object]>(event: T, ms: number) => [...event, ms] as const

/** A refund that waits three days for an approval, then runs. */
const refund = madeLog(
  said('t1', 'I want my money back'),
  after(wrote('t1', 'm1', 'One moment.', { parts: [{ type: 'call', callId: 'c1' }] }), 1_200),
  after(called('t1', 'c1', 'refund', { gated: true }), 0),
  after(suspended('c1'), 0),
  after(resolved('c1', 'eve'), 3 * day),
  after(['tool_started', { callId: 'c1', attempt: 1 }], 20),
  after(['tool_result', { callId: 'c1', ok: true, result: 'paid' }], 400),
  after(wrote('t1', 'm2', 'You have your money back.'), 900),
  after(ended('t1'), 0),
)

function audited(turnRef: string, at: number, more: Partial<ModelCallSummary> = {}): ModelCallSummary {
  return {
    ...{ turnRef, at, latencyMs: 1_000, status: 'ok', summaryVersion: null, evictions: null, meta: null },
    ...{ model: { provider: 'acme', modelId: 'm1', attempt: 1 }, usage: { timeToFirstTokenMs: 400 }, ...more },
  }
}

describe('the timeline of a turn', () => {
  test('has its model calls, tools and waits, in order', () => {
    const [turn] = turnSpans(refund, [])
    expect(turn).toMatchObject({ turnId: 't1', status: 'completed', said: 'I want my money back', seq: 1, lastSeq: 9 })
    const shown = turn!.spans.map(({ kind, name, from, to, status }) => [kind, name, to! - from, status])
    expect(shown).toEqual([
      ['model', 'm1', 1_200, 'ok'],
      ['wait', 'refund', 3 * day, 'ok'],
      ['tool', 'refund', 400, 'ok'],
      ['model', 'm1', 900, 'ok'],
    ])
    expect(turn!.spans[1]!.detail).toBe('answered by eve')
  })

  test('tells the time to the first token from the audit, and hooks from the rest', () => {
    const [first] = refund
    const [turn] = turnSpans(refund, [audited('t1/0000', first!.at + 1_190)])
    expect(turn!.spans.slice(0, 2)).toMatchObject([
      { kind: 'hooks', from: first!.at, to: first!.at + 190 },
      {
        kind: 'model',
        from: first!.at + 190,
        firstTokenAt: first!.at + 590,
        to: first!.at + 1_190,
        turnRef: 't1/0000',
      },
    ])
  })

  test('shows each attempt at a model call, and summaries in the turn around them', () => {
    const at = refund[0]!.at
    const calls = [
      audited('t1/0000', at + 500, {
        latencyMs: 400,
        status: 'failed',
        model: { modelId: 'm1', attempt: 1, error: 'overloaded' },
      }),
      audited('t1/0000', at + 1_190, { latencyMs: 500, model: { modelId: 'm2', attempt: 2 } }),
      audited('summary/t1', at + 1_100, { latencyMs: 100 }),
    ]
    const models = turnSpans(refund, calls)[0]!.spans.filter(({ kind }) => kind === 'model')
    expect(models.map(({ name, status, detail }) => [name, status, detail])).toEqual([
      ['m1', 'failed', 'overloaded'],
      ['m2', 'ok', 'attempt 2'],
      ['summary', 'ok', undefined],
      ['m1', 'ok', undefined],
    ])
  })

  test('shows a call that had not ended at a past moment as one that goes on', () => {
    const [first] = refund
    const calls = [
      audited('t1/0000', first!.at + 600, { latencyMs: 500, status: 'failed' }),
      audited('t1/0000', first!.at + 1_190, { latencyMs: 400, evictions: { seen: 1 } }),
      audited('t1/0001', first!.at + 9_000, { evictions: { seen: 5 } }),
    ]
    const [turn] = turnSpans(refund.slice(0, 1), callsBefore(calls, 1), first!.at)
    const models = turn!.spans.filter(({ kind }) => kind === 'model')
    expect(models).toMatchObject([{ from: first!.at, to: null, status: 'running', turnRef: 't1/0000' }])
    expect(models[0]).not.toHaveProperty('firstTokenAt')
  })

  test('an open turn is in the phase of the conversation, and one that has ended is not', () => {
    const open = turnSpans(refund.slice(0, 1), [])
    expect(withPhase(open, 'waiting').map(({ status }) => status)).toEqual(['waiting'])
    expect(withPhase(open, null).map(({ status }) => status)).toEqual(['running'])
    expect(withPhase(turnSpans(refund, []), 'waiting').map(({ status }) => status)).toEqual(['completed'])
  })

  test('draws a turn that only waits over the whole width', () => {
    const [turn] = turnSpans(madeLog(said('t1', 'hello'), called('t1', 'c1', 'ask'), suspended('c1')), [])
    const waits = turn!.spans.filter(({ kind }) => kind === 'wait')
    const { folds, place } = timeScale(waits, { from: turn!.from, to: turn!.from + day })
    expect(folds).toEqual([])
    expect(place(turn!.from + day / 2)).toBeCloseTo(0.5)
  })

  test('folds and labels a long wait, and keeps the rest to scale', () => {
    const [turn] = turnSpans(refund, [])
    const { folds, place } = timeScale(turn!.spans, { from: turn!.from, to: turn!.to! })
    expect(folds).toHaveLength(1)
    expect(length(folds[0]!.to - folds[0]!.from)).toBe('3 d')
    expect(folds[0]!.end - folds[0]!.start).toBeCloseTo(0.14)
    const width = (span: { from: number; to: number | null }) => place(span.to!) - place(span.from)
    const [first, , tool, last] = turn!.spans
    expect(width(first!) / width(last!)).toBeCloseTo(1_200 / 900)
    expect(width(tool!)).toBeGreaterThan(0.1)
    expect([place(turn!.from), place(turn!.to!)]).toEqual([0, expect.closeTo(1)])
  })

  test('shows a queue, and the turn that follows it', () => {
    const turns = turnSpans(
      madeLog(
        said('t1', 'one'),
        said('t2', 'two'),
        after(wrote('t1', 'm1', 'a'), 500),
        ended('t1'),
        wrote('t2', 'm2', 'b'),
        ended('t2'),
      ),
      [],
    )
    expect(turns.map(({ status }) => status)).toEqual(['completed', 'completed'])
    expect(turns[1]!.spans[0]).toMatchObject({ kind: 'queue', status: 'ok', to: turns[0]!.to })
    expect(turns[1]!.spans[1]).toMatchObject({ kind: 'model', from: turns[0]!.to })
  })

  test('ends what was open when a turn is cancelled, and names what replaced a turn', () => {
    const turns = turnSpans(
      madeLog(
        said('t1', 'one'),
        wrote('t1', 'm1', '', { parts: [{ type: 'call', callId: 'c1' }] }),
        called('t1', 'c1', 'refund'),
        suspended('c1'),
        ['cancel_requested', { turnId: 't1', who: 'eve' }],
        ended('t1', 'cancelled'),
        ['superseded', { fromSeq: 1, by: 't2' }],
        said('t2', 'one, again'),
      ),
      [],
    )
    expect(turns[0]).toMatchObject({ status: 'cancelled', supersededAt: 7 })
    expect(turns[0]!.spans.find(({ kind }) => kind === 'wait')).toMatchObject({ status: 'cancelled', to: turns[0]!.to })
    expect(turns[0]!.marks.map(({ label }) => label)).toContain('cancel requested')
    expect(turns[1]).toMatchObject({ status: 'running', to: null })
    expect(turns[1]!.supersededAt).toBeUndefined()
  })

  test('shows an interrupted attempt of a tool, a child agent and what waits now', () => {
    const [turn] = turnSpans(
      madeLog(
        said('t1', 'go'),
        wrote('t1', 'm1', ''),
        called('t1', 'c1', 'pay'),
        called('t1', 'c2', 'research', { executor: 'agent' }),
        ['tool_started', { callId: 'c1', attempt: 1 }],
        suspended('c2', 'sub_agent'),
        ['tool_started', { callId: 'c1', attempt: 2 }],
        ['tool_result', { callId: 'c1', ok: false, error: 'no' }],
        called('t1', 'c3', 'ask'),
        suspended('c3', 'elicitation'),
      ),
      [],
    )
    const shown = turn!.spans.filter(({ kind }) => kind !== 'hooks' && kind !== 'model')
    expect(shown.map(({ kind, status, detail }) => [kind, status, detail])).toEqual([
      ['tool', 'unknown', 'interrupted'],
      ['child', 'running', 'child agent'],
      ['tool', 'failed', 'attempt 2'],
      ['wait', 'running', 'waits for an answer'],
    ])
    expect(turn!.status).toBe('waiting')
  })

  test('survives a log that begins in mid-turn, and types of later versions', () => {
    const events = madeLog(
      ['tool_result', { callId: 'c9', ok: true, result: 1 }],
      wrote('t1', 'm1', 'a'),
      ['hologram', { turnId: 't1' }],
      ['note', { name: 'n', data: null, who: 'eve' }],
    )
    const turns = turnSpans(events, [])
    expect(turns.at(-1)).toMatchObject({ turnId: 't1', isCut: true })
    expect(turns.flatMap(({ marks }) => marks)).toContainEqual(
      expect.objectContaining({ label: 'hologram', isUnknown: true }),
    )
  })
})

test.each([
  [0, '0 ms'],
  [340, '340 ms'],
  [1_240, '1.2 s'],
  [42_000, '42 s'],
  [250_000, '4 m 10 s'],
  [3 * day + 7_200_000, '3 d 2 h'],
])('%i ms reads %s', (ms, words) => expect(length(ms)).toBe(words))
