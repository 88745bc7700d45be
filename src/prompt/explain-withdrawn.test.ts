import { expect, test } from 'vitest'
import {
  called,
  ended,
  failed,
  marked,
  placed,
  regenerated,
  replacing,
  replied,
  resolved,
  said,
  started,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import type { NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { noReduction, type Reduction } from './budget/reduce.ts'
import { evictionsOf, explain, shapedIn, warningsIn } from './explain.ts'

function told(events: readonly NewEvent[], reduction: Partial<Reduction> = {}, more: object = {}): string[] {
  const log = placed(events)
  const evictions = { seen: log.length, evicted: evictionsOf({ ...noReduction, ...reduction }), ...more } as Json
  return explain(log, { evictions }, foldEvents(log)).map(
    ({ seq, type, shown, why }) => `${seq} ${type} ${shown}: ${why}`,
  )
}

const window = 'its turn is in the window'
const never = 'events of this type are not part of a prompt'
const seeded: NewEvent = { type: 'seeded', content: { state: { imported: true } } }
const injected = (text: string): NewEvent => {
  return { type: 'injection', content: { turnId: 't1', step: 0, hook: 'memory', parts: [{ type: 'text', text }] } }
}
const saidEmpty: NewEvent = {
  type: 'user_msg',
  content: { turnId: 't1', message: { parts: [{ type: 'text', text: ' \n' }] }, options: {}, who: 'ann' },
}

test('a seed is before the first turn until something stands for it or it is left out', () => {
  expect(told([seeded, said('t1')])[0]).toBe('1 seeded verbatim: it is rendered before the first turn')
  expect(told([seeded, said('t1')], { summary: { toSeq: 1, version: 2, text: 'so far' } })[0]).toBe(
    '1 seeded summarised: version 2 of the summary covers the turns that ended by 1',
  )
  expect(told([seeded, said('t1')], { summary: { toSeq: 1, version: 2, text: '' } })[0]).toBe(
    '1 seeded outside_window: the turns that ended by 1 were left out without a summary',
  )
  expect(told([seeded, said('t1')], { windowFrom: 1 })[0]).toBe(
    '1 seeded verbatim: it is rendered before the first turn',
  )
  expect(told([seeded, said('t1')], {}, { shaped: [{ hook: 'h', messages: 1 }] })[0]).toBe(
    "1 seeded shaped: the hook 'h' decided which messages the model saw",
  )
})

test('what is empty is not shown, of a person, a hook or a model', () => {
  expect(
    told([saidEmpty, injected('tea'), injected(' '), replied('t1', 'm1', 1, { parts: [{ type: 'text', text: '' }] })]),
  ).toEqual([
    '1 user_msg not_shown: it is empty',
    `2 injection verbatim: ${window}`,
    '3 injection not_shown: it is empty',
    '4 assistant_msg not_shown: it has no content to show',
  ])
  const thoughts = [{ type: 'reasoning' as const, text: 'hm' }]
  expect(told([said('t1'), replied('t1', 'm1', 1, { parts: thoughts, status: 'failed' })])[1]).toBe(
    '2 assistant_msg verbatim: it is marked as cut off: failed',
  )
})

test('a call ends once in a prompt, and an edit of its arguments is told beside it', () => {
  const asked = [
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1', { gated: true }),
    suspended('c1', 'approval'),
  ]
  const denied = resolved('c1', 'approval', 'denied')
  expect(told([...asked, denied]).at(-1)).toBe(`5 resolution verbatim: ${window}`)
  const edited = resolved('c1', 'approval', 'resolved', { value: true, edited: { before: 1, after: 2 } })
  expect(told([...asked, edited, started('c1'), failed('c1', 'no')]).slice(4)).toEqual([
    `5 resolution verbatim: ${window}`,
    `6 tool_started not_shown: ${never}`,
    `7 tool_result verbatim: ${window}`,
  ])
  expect(told([...asked, resolved('c1', 'approval'), succeeded('c1')])[4]).toBe(`5 resolution not_shown: ${never}`)
})

const first = [
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1'] }),
  called('c1'),
  started('c1'),
  succeeded('c1'),
  replied('t1', 'm2', 5),
  ended('t1'),
]

test('of a turn that was replaced only its calls are told, before the message in its place', () => {
  const gone = 'its turn was replaced at 8'
  const listed = `${gone}; the call is listed before the message in its place`
  expect(told([...first, replacing(1, 't2'), said('t2'), replied('t2', 'm3', 9)])).toEqual([
    `1 user_msg not_shown: ${gone}`,
    `2 assistant_msg not_shown: ${gone}`,
    `3 tool_call verbatim: ${listed}`,
    `4 tool_started not_shown: ${gone}`,
    `5 tool_result verbatim: ${listed}`,
    `6 assistant_msg not_shown: ${gone}`,
    `7 turn_ended not_shown: ${gone}`,
    `8 superseded not_shown: ${never}`,
    `9 user_msg verbatim: ${window}`,
    `10 assistant_msg verbatim: ${window}`,
  ])
})

test('the calls of a turn that was replaced go with the turn that lists them', () => {
  const events = [...first, replacing(1, 't2'), said('t2'), ended('t2'), said('t3')]
  const shown = told(events, { summary: { toSeq: 10, version: 1, text: 'x' } })
  const covered = 'version 1 of the summary covers the turns that ended by 10'
  expect(shown[2]).toBe(`3 tool_call summarised: ${covered}`)
  expect(shown[4]).toBe(`5 tool_result summarised: ${covered}`)
  expect(shown[8]).toBe(`9 user_msg summarised: ${covered}`)
  expect(shown[10]).toBe(`11 user_msg verbatim: ${window}`)
})

test('turns before and after the one that was replaced stay what they are', () => {
  const events = [said('t1'), ended('t1'), said('t2'), ended('t2'), replacing(3, 't3'), said('t3')]
  const shown = told(events)
  expect(shown[0]).toBe(`1 user_msg verbatim: ${window}`)
  expect(shown[1]).toBe(`2 turn_ended not_shown: ${never}`)
  expect(shown[2]).toBe('3 user_msg not_shown: its turn was replaced at 5')
  expect(shown[3]).toBe('4 turn_ended not_shown: its turn was replaced at 5')
  expect(shown[5]).toBe(`6 user_msg verbatim: ${window}`)
})

test('a message that is regenerated or withheld is not shown, and its mark tells why', () => {
  expect(
    told([said('t1'), replied('t1', 'm1', 1), regenerated('m1'), marked('m2'), replied('t1', 'm2', 4)]).slice(1),
  ).toEqual([
    '2 assistant_msg not_shown: it was regenerated',
    '3 regeneration verbatim: its feedback replaces the message',
    `4 withheld not_shown: ${never}`,
    "5 assistant_msg not_shown: it was withheld: the hook 'guard' did not pass it",
  ])
})

test('rows that say nothing of hooks or warnings, or say nonsense, have none', () => {
  for (const evictions of [null, 7, {}, { shaped: 'x' }, { shaped: [null, { hook: 7 }] }] as Json[])
    expect(shapedIn({ evictions })).toEqual([])
  expect(shapedIn({ evictions: { shaped: [{ hook: 'a' }, 3] } })).toEqual([{ hook: 'a' }])
  for (const model of [null, 7, {}, { warnings: 'x' }] as Json[]) expect(warningsIn({ model })).toEqual([])
  expect(warningsIn({ model: { warnings: ['a', 3, 'b'] } })).toEqual(['a', 'b'])
})
