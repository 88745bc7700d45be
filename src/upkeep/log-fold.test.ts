import { afterEach, expect, test, vi } from 'vitest'
import { ended, placed, replied, said } from '../../test/log/story.ts'
import { weightOf } from '../log/abridge.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import * as folding from '../log/fold-events.ts'
import { fsmStateOf } from '../log/fsm-state.ts'
import { stateWeight } from '../log/trim-state.ts'
import { suspension, toolCall, toolResult, toolStarted } from '../testing/conformance/event-builders.ts'
import { type Folded, isWhole, LogFold } from './log-fold.ts'

vi.mock('../log/fold-events.ts', { spy: true })

afterEach(() => vi.clearAllMocks())

/** One long turn with added messages, many short turns, or both. */
const turn = (turnId: string, replies: number): NewEvent[] => [
  said(turnId),
  ...Array.from({ length: replies }, (_, n) => (n % 7 === 6 ? said(turnId) : replied(turnId, `${turnId}-${n}`, 1))),
  ended(turnId),
]
const log = [...turn('short', 1), ...turn('long', 70), ...Array.from({ length: 20 }, (_, n) => turn(`t${n}`, 1)).flat()]
const events = log.map((event, index) => ({ ...event, conversationId: 'chat', seq: index + 1, at: 1 }) as LogEvent)

test('reports the state at the last landmark, wherever the log ends and whatever else is watched', () => {
  for (let length = 1; length <= events.length; length++) {
    const begun = events.slice(0, length)
    const fold = new LogFold(new Set([length - 3]), () => {})
    for (const event of begun) fold.event(event, event.type !== 'user_msg')
    fold.end()
    const last = begun.findLast(({ type }) => type !== 'user_msg')
    const state = fold.atLandmark?.kind === 'conversation' ? fold.atLandmark.state : null
    expect(state?.lastSeq).toBe(last?.seq)
    expect(state?.turns.at(-1)).toEqual(last && folding.foldEvents(events.slice(0, last.seq)).turns.at(-1))
  }
})

test('a long turn is not folded again for each landmark in it', () => {
  const fold = new LogFold(new Set(), () => {})
  for (const event of events) fold.event(event, event.type !== 'user_msg')
  fold.end()
  expect(vi.mocked(folding.foldEvents).mock.calls.length).toBeLessThan(events.length / 10)
})

const long = 'x'.repeat(200_000)
const largeTurn: NewEvent[] = [
  said('t'),
  ...Array.from({ length: 100 }, (_, n): NewEvent[] => {
    const callId = `call-${n}`
    return [
      toolCall(callId, { turnId: 't', gated: n === 99 }),
      ...(n === 99 ? [suspension(callId)] : [toolStarted(callId), toolResult(callId, { ok: true, result: long })]),
    ]
  }).flat(),
]

function stateOf(folded: Folded) {
  if (folded.kind !== 'conversation') throw new Error('it is no conversation')
  return folded.state
}

test('a turn of any size is folded in little memory, and still says what waits', () => {
  const fold = new LogFold(new Set(), () => {})
  for (const event of placed(largeTurn)) fold.event(event)
  const state = stateOf(fold.end())
  expect(stateWeight(state)).toBeLessThan(5 * 1024 * 1024)
  expect(fsmStateOf(state)).toMatchObject({ state: 'awaiting_input', pending: ['call-99'] })
  expect(state.isTrimmed).toBe(true)
})

test('large events are folded as they come, and not gathered', () => {
  const fold = new LogFold(new Set(), () => {})
  for (const event of placed(largeTurn)) fold.event(event)
  fold.end()
  const batches = vi.mocked(folding.foldEvents).mock.calls.map(([given]) => [...given])
  const heaviest = Math.max(...batches.map((given) => weightOf(given.map(({ content }) => content))))
  expect(heaviest).toBeLessThan(700_000)
})

test('once a turn that was too large has ended, later turns are whole again', () => {
  const later = Array.from({ length: 20 }, (_, n) => turn(`later-${n}`, 1)).flat()
  const fold = new LogFold(new Set(), () => {})
  for (const event of placed([...largeTurn, ended('t'), ...later, said('open')])) fold.event(event)
  const state = stateOf(fold.end())
  expect(state.isTrimmed).toBeUndefined()
  expect(state.turns.every(isWhole)).toBe(true)
  expect(state.turns.at(-1)).toMatchObject({ turnId: 'open', opened: true })
})
