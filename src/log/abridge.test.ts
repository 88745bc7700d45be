import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { called, placed, replied, resolved, said, stateOf, suspended } from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import { abridge, abridgeEvent, weightOf } from './abridge.ts'
import { callPhase } from './call-phase.ts'
import type { NewEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { assistantMsg, toolResult, userMsg } from './validate-event.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const long = 'x'.repeat(10_000)

test('a value weighs about what it takes in memory', () => {
  expect([null, true, 12, ''].map(weightOf)).toEqual([8, 8, 8, 16])
  expect(['abc', [], [1, 'a'], {}, { key: null }].map(weightOf)).toEqual([19, 32, 73, 32, 59])
})

describe('the beginning of a value', () => {
  test.each<[string, Json, Json]>([
    ['a short one is itself', { a: [1, 'b', null] }, { a: [1, 'b', null] }],
    ['a long text is cut, and says so', long, `${'x'.repeat(400)}…`],
    ['a pair of surrogates is not cut in two', `${'x'.repeat(399)}😀😀`, `${'x'.repeat(399)}…`],
    ['of a list the first', Array.from({ length: 50 }, (_, n) => n), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
  ])('%s', (_, value, expected) => {
    expect(abridge(value)).toEqual(expected)
  })

  test('what says how a call ended is kept, wherever it stands', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`key${n}`, long]))
    expect(abridge({ ...many, ok: false, error: 'no' })).toMatchObject({ ok: false, error: 'no' })
  })

  test('it is small, whatever the value is', () => {
    const deep = JSON.parse(`${'[{"a":'.repeat(200)}1${'}]'.repeat(200)}`) as Json
    const wide = Array.from({ length: 1_000 }, () => Array.from({ length: 100 }, () => long))
    const named = { [long]: 1, b: { [long]: 2 } }
    for (const value of [deep, wide, named, long]) expect(weightOf(abridge(value))).toBeLessThan(2_000)
  })

  test('it does not keep the whole in memory', () => {
    const used = (): number => {
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const before = used()
    const kept = Array.from({ length: 200 }, (_, n) => abridge(Buffer.alloc(500_000, `text ${n} `).toString()))
    expect(used() - before).toBeLessThan(20_000_000)
    expect(kept).toHaveLength(200)
  })
})

describe('an abridged event', () => {
  const cases: [string, NewEvent][] = [
    [
      'user_msg',
      userMsg({ turnId: 't1', message: { parts: [{ type: 'text', text: long }] }, options: {}, who: 'ann' }),
    ],
    ['tool_result', toolResult({ callId: 'c1', ok: false, error: long })],
    ['tool_call', called('c1', { args: { text: long } })],
    ['suspension', suspended('c1', 'approval', { prompt: long })],
    ['resolution', resolved('c1', 'elicitation', 'resolved', { value: { text: long } })],
  ]
  test.each(cases)('%s is small and says how much is missing', (_, event) => {
    const [abridged] = placed([event]).map(abridgeEvent)
    expect(weightOf(abridged!.content)).toBeLessThan(2_500)
    expect((abridged!.content as { leftOut?: number }).leftOut).toBeGreaterThan(9_000)
    expect(abridged).toMatchObject({ seq: 1, type: event.type })
  })

  test('one that is short is left as it is', () => {
    const [event] = placed([said('t1')])
    expect(abridgeEvent(event!).content).toBe(event!.content)
  })

  test('a message keeps all of its calls, and no file that only a cut address names', () => {
    const calls = Array.from({ length: 30 }, (_, n) => `c${n}`)
    const parts = [
      { type: 'text' as const, text: long },
      { type: 'file' as const, mediaType: 'image/png', data: `https://example.com/${long}` },
      ...calls.map((callId) => ({ type: 'call' as const, callId })),
    ]
    const event = assistantMsg({ ...content(replied('t1', 'm1', 1)), parts })
    const { parts: kept } = content(placed([event]).map(abridgeEvent)[0]!)
    expect(kept.filter(({ type }) => type === 'call')).toHaveLength(30)
    expect(kept.some(({ type }) => type === 'file')).toBe(false)
  })

  test('of many parts that are no calls, a message keeps the first eight', () => {
    const parts = Array.from({ length: 20 }, (_, n) => ({ type: 'text' as const, text: `${n} ${'x'.repeat(100)}` }))
    const event = assistantMsg({ ...content(replied('t1', 'm1', 1)), parts })
    const { parts: kept } = content(placed([event]).map(abridgeEvent)[0]!)
    expect(kept).toEqual(parts.slice(0, 8))
  })

  test('a denial that is long is still a denial, and a plain no still no', () => {
    const asking = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
    const asked = [...asking, suspended('c1', 'approval', { prompt: long })]
    for (const answer of [
      resolved('c1', 'approval', 'denied', { value: { reason: long } }),
      resolved('c1', 'approval', 'resolved', { value: false }),
    ]) {
      const events = placed([...asked, answer])
      const abridged = foldEvents(events.map(abridgeEvent)).turns[0]!.calls[0]!
      const whole = stateOf([...asked, answer]).turns[0]!.calls[0]!
      expect(callPhase(abridged).type).toBe(callPhase(whole).type)
      expect(callPhase(abridged)).toMatchObject({ type: 'ended', end: { ok: false } })
    }
  })
})

function content(event: NewEvent): Extract<NewEvent, { type: 'assistant_msg' }>['content'] {
  if (event.type !== 'assistant_msg') throw new Error('not a message')
  return event.content
}
