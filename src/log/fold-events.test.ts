import { describe, expect, test } from 'vitest'
import {
  called,
  cancelled,
  changed,
  continued,
  ended,
  failed,
  halted,
  marked,
  moved,
  noted,
  placed,
  regenerated,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import { EventInvalidError, EventUnknownError } from '../base/errors/log-errors.ts'
import { deadlineOf } from './call-phase.ts'
import type { LogEvent, NewEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { fsmStateOf } from './fsm-state.ts'
import { baseOf, emptyState, findCall, findTurn, openTurn, queuedTurns, stateSince } from './state.ts'
import { stateWeight } from './trim-state.ts'
import { stateRefused } from './validate-event.ts'

const story: NewEvent[] = [
  { type: 'seeded', content: { state: { imported: true } } },
  said('t1'),
  { type: 'injection', content: { turnId: 't1', step: 0, hook: 'memory', parts: [] } },
  replied('t1', 'm1', 3),
  regenerated('m1'),
  marked('m0'),
  replied('t1', 'm0', 5, { object: { answer: 42 } }),
  regenerated('m0', 2),
  replied('t1', 'm2', 8, { calls: ['c1', 'c2'] }),
  called('c1', { gated: true }),
  called('c2'),
  noted('opened'),
  suspended('c1', 'approval', { expiresInMs: 60_000 }),
  moved('c1', 5_000),
  started('c2'),
  said('t2'),
  changed({ todos: ['tea'], draft: 'x' }),
  changed({ todos: ['tea', 'milk'] }, { callId: 'c2', remove: ['draft'] }),
  succeeded('c2'),
  resolved('c1', 'approval'),
  started('c1'),
  { type: 'titled', content: { title: 'Refunds' } },
  cancelled('t1'),
  succeeded('c1'),
  ended('t1', 'cancelled'),
  noted('rated', { stars: 5 }),
  marked('m3'),
  replied('t2', 'm3', 26),
  ended('t2'),
  said('t3'),
]

describe('folding', () => {
  test('gives the same state at once and in two halves, at every split', () => {
    const events = placed(story)
    const whole = foldEvents(events)
    for (let split = 0; split <= events.length; split++) {
      const half = foldEvents(events.slice(0, split))
      expect(foldEvents(events.slice(split), half)).toEqual(whole)
    }
  })

  test('leaves the state it starts from as it was', () => {
    const events = placed(story)
    for (let split = 0; split <= events.length; split++) {
      const half = foldEvents(events.slice(0, split))
      const copy = structuredClone(half)
      foldEvents(events.slice(split), half)
      expect(half).toEqual(copy)
    }
  })

  test('applies an event that comes twice once', () => {
    const events = placed(story)
    const twice = events.flatMap((event, index) => [event, ...events.slice(Math.max(0, index - 3), index + 1)])
    expect(foldEvents(twice)).toEqual(foldEvents(events))
    expect(foldEvents(events, foldEvents(events))).toEqual(foldEvents(events))
  })

  test('goes on from the base of a summary to the same unfinished turns', () => {
    const events = placed(story)
    const whole = foldEvents(events)
    for (let split = 0; split <= events.length; split++) {
      const base = baseOf(foldEvents(events.slice(0, split)))
      const revived = foldEvents(events.slice(split), JSON.parse(JSON.stringify(base)))
      expect(baseOf(revived)).toEqual(baseOf(whole))
    }
  })
})

describe('a log that cannot be folded', () => {
  test('an event type this version does not know is refused, never passed over', () => {
    const unknown = { ...placed([said('t1')])[0]!, type: 'teleported' } as unknown as LogEvent
    expect(() => foldEvents([unknown])).toThrow(EventUnknownError)
    expect(() => foldEvents([unknown])).toThrow("Event 1 of 'story' has the type 'teleported'")
  })

  test('a gap in the sequence is refused', () => {
    const [first, , third] = placed([said('t1'), said('t2'), said('t3')])
    expect(() => foldEvents([first!, third!])).toThrow(EventInvalidError)
    expect(() => foldEvents([first!, third!])).toThrow('the log jumps from 1 to 3')
  })
})

describe('an event that is about nothing in the log', () => {
  const flowStarted: NewEvent = { type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } }

  test.each<[string, NewEvent, string]>([
    ['a message of a turn that never was', replied('t9', 'm1', 1), "turn 't9'"],
    [
      'an injection into a turn that never was',
      { type: 'injection', content: { turnId: 't9', step: 0, hook: 'memory', parts: [] } },
      "turn 't9'",
    ],
    ['a call of a turn that never was', called('c9', { turnId: 't9' }), "turn 't9'"],
    ['a call that was made before', called('c1'), "call 'c1', which the log has already"],
    ['the end of a turn that never was', ended('t9'), "turn 't9'"],
    ['a cancel of a turn that never was', cancelled('t9'), "turn 't9'"],
    ['a start of a call that never was', started('c9'), "call 'c9'"],
    ['a suspension of a call that never was', suspended('c9', 'approval'), "call 'c9'"],
    ['a resolution of a call that never was', resolved('c9', 'approval'), "call 'c9'"],
    ['a result of a call that never was', succeeded('c9'), "call 'c9'"],
    ['a change of state by a call that never was', changed({ a: 1 }, { callId: 'c9' }), "call 'c9'"],
    ['a refusal for a call that never was', stateRefused({ callId: 'c9', reason: 'no' }), "call 'c9'"],
    ['a state that is too large', changed({ a: 'x'.repeat(64 * 1024) }), 'larger than it may be'],
    ['a regeneration of a message that never was', regenerated('m9'), "message 'm9'"],
    ['a seed in the middle', { type: 'seeded', content: { state: null } }, 'already has events'],
    ['an event of a session', flowStarted, 'a flow session'],
  ])('%s changes nothing, and is reported', (_, event, why) => {
    const before = stateOf([said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1')])
    const told: string[] = []
    const after = foldEvents(placed([event], 3), before, ({ seq, type }, problem) =>
      told.push(`${seq} ${type} ${problem}`),
    )
    expect(after).toEqual({ ...before, lastSeq: 4 })
    expect(told).toEqual([expect.stringMatching(new RegExp(`^4 ${event.type} .*${why}`))])
  })

  test('an event that changes the state is not reported', () => {
    const told: unknown[] = []
    foldEvents(placed(story), undefined, (event) => told.push(event))
    expect(told).toEqual([])
  })

  test('a call may have the id of one in a turn that has ended', () => {
    const state = stateOf([said('t1'), called('c1'), ended('t1'), said('t2'), called('c1', { turnId: 't2' })])
    expect(state.turns.map(({ calls }) => calls.length)).toEqual([1, 1])
  })
})

describe('a message that is withheld', () => {
  const usage = { inputTokens: 10, outputTokens: 5 }
  const log = [said('t1'), marked('m1', 'strict'), replied('t1', 'm1', 1, { object: { answer: 42 }, usage })]

  test('has neither parts nor object in a state, only what it used and which hook did not pass it', () => {
    const [item] = openTurn(stateOf(log))!.items.slice(1)
    expect(item).toMatchObject({ messageId: 'm1', seq: 3, parts: [], usage, withheld: { hook: 'strict' } })
    expect(item).not.toHaveProperty('object')
  })

  test('is known to be as soon as its mark is there, so that no part of a log shows it', () => {
    const marked = stateOf(log.slice(0, 2))
    expect(marked.withheld).toEqual({ messageId: 'm1', hook: 'strict' })
    expect(continued(marked, log.slice(2))).toEqual(stateOf(log))
    expect(stateOf(log)).not.toHaveProperty('withheld')
  })

  test('leaves the other messages as they are', () => {
    const shown = stateOf([...log, replied('t1', 'm2', 3)])
    expect(openTurn(shown)!.items.at(-1)).toMatchObject({ messageId: 'm2', parts: [{ text: 'this is m2' }] })
    const other = stateOf([said('t1'), marked('gone'), replied('t1', 'm1', 1)])
    expect(openTurn(other)!.items.at(-1)).toMatchObject({ messageId: 'm1', parts: [{ text: 'this is m1' }] })
  })

  test('may have its mark after it', () => {
    const [said1, mark, message] = log
    const [item] = openTurn(stateOf([said1!, message!, mark!]))!.items.slice(1)
    expect(item).toMatchObject({ messageId: 'm1', parts: [], withheld: { hook: 'strict' } })
  })
})

describe('a deadline that is moved', () => {
  const waiting = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]
  const asked = [...waiting, suspended('c1', 'approval', { expiresInMs: 60_000 })]
  const deadline = (events: readonly NewEvent[]) => deadlineOf(findCall(stateOf(events), 'c1')!.call.rounds.at(-1)!)

  test('counts from the event that moved it last, and may be taken away', () => {
    expect(deadline(asked)).toBe(4_000 + 60_000)
    expect(deadline([...asked, moved('c1', 5_000)])).toBe(5_000 + 5_000)
    expect(deadline([...asked, moved('c1', null)])).toBeNull()
    expect(deadline([...asked, moved('c1', null), moved('c1', 7_000)])).toBe(6_000 + 7_000)
  })

  test('leaves the call waiting as before', () => {
    const [before, after] = [stateOf(asked), stateOf([...asked, moved('c1', 5_000)])]
    expect(fsmStateOf(after)).toEqual({ ...fsmStateOf(before), lastSeq: 5 })
  })

  test.each<[string, NewEvent[], NewEvent, string]>([
    ['names no call', asked, moved('c9', 1), "names call 'c9', which is not in the log before it"],
    ['comes before its suspension', waiting, moved('c1', 1), 'round 1 of call'],
    ['names another round', asked, moved('c1', 1, 2), 'round 2 of call'],
    ['comes after the answer', [...asked, resolved('c1', 'approval')], moved('c1', 1), 'which does not wait'],
    ['comes after the result', [...asked, succeeded('c1')], moved('c1', 1), 'which does not wait'],
    ['is about a child agent', [...waiting, suspended('c1', 'sub_agent')], moved('c1', 1), 'which does not wait'],
  ])('is ignored, and told of, when it %s', (_, log, move, why) => {
    const ignored: string[] = []
    const state = foldEvents(placed([...log, move]), undefined, (event, told) => ignored.push(`${event.type} ${told}`))
    expect(ignored).toEqual([expect.stringMatching(/^deadline_moved /)])
    expect(ignored[0]).toContain(why)
    expect(state.turns).toEqual(stateOf(log).turns)
  })
})

describe('notes', () => {
  test('are kept in their order, beside the turns, and decide nothing', () => {
    const state = stateOf([noted('before'), said('t1'), noted('rated', { stars: 5 })])
    expect(state.notes).toEqual([
      { seq: 1, at: 1_000, name: 'before', data: null, who: 'ann' },
      { seq: 3, at: 3_000, name: 'rated', data: { stars: 5 }, who: 'ann' },
    ])
    expect(state.turns).toHaveLength(1)
    expect(stateOf([said('t1')])).not.toHaveProperty('notes')
  })

  test('very many keep a state small: the newest stay, however the log is cut into pieces', () => {
    const events = placed(Array.from({ length: 40 }, (_, index) => noted(`n${index}`, 'x'.repeat(60_000))))
    const whole = foldEvents(events)
    expect(stateWeight(whole)).toBeLessThan(600_000)
    expect(whole.notes!.at(-1)!.seq).toBe(40)
    expect(whole.notesLeftOut).toBe(whole.notes![0]!.seq - 1)
    for (let split = 0; split <= events.length; split++) {
      const half = foldEvents(events.slice(0, split))
      expect(foldEvents(events.slice(split), half)).toEqual(whole)
    }
  })

  test('are not in the base of a summary, nor in what is left after one', () => {
    const state = stateOf([said('t1'), noted('old'), ended('t1'), noted('new')])
    expect(baseOf(state)).not.toHaveProperty('notes')
    expect(stateSince(state, 3).notes).toMatchObject([{ name: 'new' }])
    expect(stateSince(state, 4)).not.toHaveProperty('notes')
  })
})

describe('a tool that ends the turn', () => {
  const running = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }), called('c1'), called('c2')]
  const begun = [...running, started('c1'), started('c2')]

  test('is known before its result, and the first gives the reason', () => {
    expect(openTurn(stateOf([...begun, halted('c1')]))?.halt).toEqual({ callId: 'c1', reason: 'handed over' })
    const twice = stateOf([...begun, halted('c2', 'first'), succeeded('c2'), halted('c1', 'second'), succeeded('c1')])
    expect(openTurn(twice)?.halt).toEqual({ callId: 'c2', reason: 'first' })
    expect(openTurn(stateOf(begun))).not.toHaveProperty('halt')
  })

  test('of a turn that has ended, or of no turn, changes nothing', () => {
    expect(findTurn(stateOf([...begun, ended('t1'), halted('c1')]), 't1')).not.toHaveProperty('halt')
    const ignored: string[] = []
    const events = placed([said('t1'), halted('c9')])
    const state = foldEvents(events, emptyState, (event, why) => void ignored.push(`${event.type} ${why}`))
    expect(openTurn(state)).not.toHaveProperty('halt')
    expect(ignored).toEqual(["halted_by names call 'c9', which is not in the log before it"])
  })
})

describe("the application's state", () => {
  const before = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), started('c1')]
  const valuesOf = (events: NewEvent[]) => stateOf(events).appState?.values

  test('is absent until it is set', () => {
    expect(stateOf(before)).not.toHaveProperty('appState')
  })

  test('changes by top-level keys, and keeps those that a change does not name', () => {
    const events = [changed({ a: 1, b: { c: 1 } }), changed({ b: { d: 2 }, e: null }, { remove: ['a', 'none'] })]
    expect(valuesOf(events)).toEqual({ b: { d: 2 }, e: null })
  })

  test('of a call changes with its result, and not before', () => {
    const set = changed({ todos: ['tea'] }, { callId: 'c1' })
    expect(valuesOf([...before, set])).toBeUndefined()
    const whole = stateOf([...before, set, succeeded('c1')])
    expect(whole.appState).toEqual({ values: { todos: ['tea'] }, exposed: ['todos'] })
    expect(openTurn(whole)!.calls[0]).not.toHaveProperty('stateSet')
  })

  test('of a call that ends badly does not change', () => {
    const state = stateOf([...before, changed({ a: 1 }, { callId: 'c1' }), failed('c1', 'broke', 'unknown')])
    expect(state).not.toHaveProperty('appState')
    expect(openTurn(state)!.calls[0]).not.toHaveProperty('stateSet')
  })

  test('of a call is not set by a later attempt, where the log was cut before the result', () => {
    const cut = [...before, changed({ a: 1 }, { callId: 'c1' }), started('c1', 2), succeeded('c1')]
    expect(stateOf(cut)).not.toHaveProperty('appState')
  })

  test('is not changed for a call that has its result', () => {
    const told: string[] = []
    const events = [...before, succeeded('c1'), changed({ a: 1 }, { callId: 'c1' }), succeeded('c1')]
    const state = foldEvents(placed(events), undefined, (_, why) => told.push(why))
    expect(state).not.toHaveProperty('appState')
    expect(told).toEqual(["sets the state for call 'c1', which has its result already"])
  })

  test('may have 64 KiB, counted over all changes', () => {
    const half = 'é'.repeat(16 * 1024 - 4)
    const state = stateOf([changed({ a: half }), changed({ b: half }), changed({ c: 1 }), changed({ b: 2 })])
    expect(stateOf([changed({ a: half }), changed({ b: half })]).appState?.values).toEqual({ a: half, b: half })
    expect(state.appState?.values).toEqual({ a: half, b: 2 })
  })

  test('may have keys that objects are born with', () => {
    const set = JSON.parse('{"__proto__": 1, "toString": 2}')
    expect(Object.entries(valuesOf([changed(set)])!)).toEqual([
      ['__proto__', 1],
      ['toString', 2],
    ])
    expect(Object.keys(valuesOf([changed(set), changed({}, { remove: ['__proto__'] })])!)).toEqual(['toString'])
  })

  test('that was refused is told with the call', () => {
    const [call] = openTurn(
      stateOf([...before, stateRefused({ callId: 'c1', reason: 'no list' }), succeeded('c1')]),
    )!.calls
    expect(call).toMatchObject({ stateRefused: 'no list', result: { ok: true } })
  })
})

describe('turns', () => {
  test('the first opens, the others queue in the order they came', () => {
    const state = stateOf([said('t1'), said('t2'), said('t3')])
    expect(openTurn(state)?.turnId).toBe('t1')
    expect(queuedTurns(state).map((turn) => turn.turnId)).toEqual(['t2', 't3'])
  })

  test('a message of a queued turn extends it', () => {
    const state = stateOf([said('t1'), said('t2'), said('t3'), said('t2')])
    expect(queuedTurns(state).map((turn) => [turn.turnId, turn.items.length])).toEqual([
      ['t2', 2],
      ['t3', 1],
    ])
  })

  test('one that ended in the queue was never opened', () => {
    const state = stateOf([said('t1'), said('t2'), cancelled('t2'), ended('t2', 'cancelled'), ended('t1')])
    expect(findTurn(state, 't2')?.opened).toBe(false)
    expect(openTurn(state)).toBeNull()
  })

  test('one that was cancelled in the queue does not open when its time comes', () => {
    const state = stateOf([said('t1'), said('t2'), cancelled('t2'), ended('t1')])
    expect(openTurn(state)).toBeNull()
    expect(queuedTurns(state).map((turn) => turn.turnId)).toEqual(['t2'])
  })

  test('the first request to cancel counts', () => {
    const again: NewEvent = { type: 'cancel_requested', content: { turnId: 't1', who: 'eve' } }
    expect(findTurn(stateOf([said('t1'), cancelled('t1'), again]), 't1')?.cancel).toEqual({ who: 'bob', seq: 2 })
  })

  test('the first end counts', () => {
    const state = stateOf([said('t1'), ended('t1', 'halted', 'hook'), ended('t1', 'failed')])
    expect(findTurn(state, 't1')?.end).toEqual({ status: 'halted', reason: 'hook', seq: 2 })
  })

  test('a message with the id of a turn that has ended opens a new one', () => {
    const state = stateOf([said('t1'), ended('t1'), said('t1')])
    expect(state.turns.map((turn) => [turn.turnId, turn.firstSeq, turn.end !== null])).toEqual([
      ['t1', 1, true],
      ['t1', 3, false],
    ])
  })

  test('of two turns with one id, what comes next is of the newer', () => {
    const state = stateOf([said('t1'), ended('t1'), said('t1')])
    const next = foldEvents(placed([ended('t1', 'failed')], 3), state)
    expect(next.turns.map(({ end }) => end?.status)).toEqual(['completed', 'failed'])
  })

  test('a base keeps title, seed and unfinished turns only', () => {
    const base = baseOf(stateOf(story))
    expect(base.turns.map((turn) => turn.turnId)).toEqual(['t3'])
    expect(base).toMatchObject({ lastSeq: story.length, title: 'Refunds', seed: { imported: true } })
    expect(base.appState).toEqual({ values: { todos: ['tea', 'milk'] }, exposed: ['todos'] })
  })
})
