import { afterEach, expect, test, vi } from 'vitest'
import { ended, replied, said } from '../../test/log/story.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import * as folding from '../log/fold-events.ts'
import { LogFold } from './log-fold.ts'

vi.mock('../log/fold-events.ts', { spy: true })

afterEach(() => vi.clearAllMocks())

/** One long turn, with somebody adding to it every now and then, as many turns, or both. */
const turn = (turnId: string, replies: number): NewEvent[] => [
  said(turnId),
  ...Array.from({ length: replies }, (_, n) => (n % 7 === 6 ? said(turnId) : replied(turnId, `${turnId}-${n}`, 1))),
  ended(turnId),
]
const log = [...turn('short', 1), ...turn('long', 70), ...Array.from({ length: 20 }, (_, n) => turn(`t${n}`, 1)).flat()]
const events = log.map((event, index) => ({ ...event, conversationId: 'chat', seq: index + 1, at: 1 }) as LogEvent)

test('the state at the last landmark is told, wherever the log ends and whatever else is watched', () => {
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
