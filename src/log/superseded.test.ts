import { describe, expect, test } from 'vitest'
import {
  called,
  changed,
  ended,
  noted,
  placed,
  replacing,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import { takeSnapshot } from '../snapshot/take-snapshot.ts'
import type { NewEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { nextStep } from './next-step.ts'
import { readSnapshot } from './read-snapshot.ts'
import { restoredEvents } from './restored-events.ts'
import { baseOf, emptyState, openTurn } from './state.ts'
import { doneBefore, unrepeatable } from './superseded.ts'
import { foldWithin, trimState } from './trim-state.ts'

const turn = (turnId: string, seen: number): NewEvent[] => [
  said(turnId),
  replied(turnId, `m-${turnId}`, seen),
  ended(turnId),
]
/** Three turns: t1 from 1, t2 from 4 with a call, t3 from 11. */
const before: NewEvent[] = [
  ...turn('t1', 1),
  said('t2'),
  replied('t2', 'm2', 4, { calls: ['c1'] }),
  called('c1', { turnId: 't2', args: { order: 'o-17', amount: 50 } }),
  started('c1'),
  succeeded('c1'),
  replied('t2', 'm3', 8),
  ended('t2'),
  ...turn('t3', 11),
]

function ignoredBy(events: NewEvent[]): string[] {
  const ignored: string[] = []
  foldEvents(placed(events), emptyState, (event, why) => void ignored.push(`${event.type} ${why}`))
  return ignored
}

describe('a superseded', () => {
  test('withdraws every turn from its place on, and the next turn is there instead', () => {
    const state = stateOf([...before, replacing(4, 't4'), said('t4')])
    expect(state.turns.map(({ turnId }) => turnId)).toEqual(['t1', 't4'])
    expect(openTurn(state)?.replaced).toMatchObject({
      fromSeq: 4,
      variants: 2,
      previousSeq: 13,
      calls: [{ callId: 'c1', name: 'refund' }],
    })
    expect(state).not.toHaveProperty('withdrawn')
    expect(nextStep(state, new Set())).toEqual({ type: 'model', turnId: 't4', step: 0 })
  })

  test('of a second variant counts it, and keeps what all variants before it did', () => {
    const second: NewEvent[] = [
      ...[replacing(4, 't4'), said('t4'), replied('t4', 'm4', 15, { calls: ['c2'] }), called('c2', { turnId: 't4' })],
      ...[started('c2'), succeeded('c2'), ended('t4')],
    ]
    const state = stateOf([...before, ...second, replacing(4, 't5'), said('t5')])
    expect(state.turns.map(({ turnId }) => turnId)).toEqual(['t1', 't5'])
    expect(openTurn(state)?.replaced).toMatchObject({ fromSeq: 4, variants: 3, previousSeq: 20 })
    expect(openTurn(state)?.replaced?.calls.map(({ callId }) => callId)).toEqual(['c1', 'c2'])
  })

  test('that names a variant by its own first message finds the place of all of them', () => {
    const state = stateOf([...before, replacing(11, 't4'), ...turn('t4', 15), replacing(15, 't5'), said('t5')])
    expect(openTurn(state)?.replaced).toMatchObject({ fromSeq: 11, variants: 3 })
  })

  test('keeps state, notes and title', () => {
    const kept: NewEvent[] = [changed({ todos: ['tea'] }), noted('rated', { stars: 5 })]
    const state = stateOf([...before, ...kept, replacing(4, 't4'), said('t4')])
    expect(state.appState?.values).toEqual({ todos: ['tea'] })
    expect(state.notes).toHaveLength(1)
  })

  test('without a message after it keeps what was done until a turn begins', () => {
    const cut = stateOf([...before, replacing(4, 't4')])
    expect(cut.turns.map(({ turnId }) => turnId)).toEqual(['t1'])
    expect(cut.withdrawn?.calls).toHaveLength(1)
    expect(baseOf(cut).withdrawn).toEqual(cut.withdrawn)
    const again = foldEvents(placed([replacing(1, 't5'), said('t6')], 14), cut)
    expect(openTurn(again)?.replaced).toMatchObject({ fromSeq: 1, calls: [{ callId: 'c1' }] })
  })

  test('lists calls that were answered or ran elsewhere, and not those that were only made', () => {
    const calls: NewEvent[] = [
      ...[said('t1'), replied('t1', 'm1', 1, { calls: ['c1', 'c2', 'c3', 'c4', 'c5'] })],
      ...[called('c1', { gated: true }), suspended('c1', 'approval'), resolved('c1', 'approval', 'denied')],
      ...[called('c2', { gated: true }), suspended('c2', 'approval'), resolved('c2', 'approval', 'expired')],
      ...[called('c3', { executor: 'human' }), suspended('c3', 'elicitation'), resolved('c3', 'elicitation')],
      ...[called('c4', { executor: 'agent' }), suspended('c4', 'sub_agent'), resolved('c4', 'sub_agent', 'cancelled')],
      ...[called('c5', { executor: 'client' }), suspended('c5', 'client_exec'), resolved('c5', 'client_exec')],
      ...[ended('t1', 'cancelled')],
    ]
    const [withdrawn] = stateOf(calls).turns
    expect(unrepeatable([withdrawn!]).map(({ callId }) => callId)).toEqual(['c4', 'c5'])
    const state = stateOf([...calls, replacing(1, 't2'), said('t2')])
    expect(openTurn(state)?.replaced?.calls.map(({ callId }) => callId)).toEqual(['c1', 'c3', 'c4', 'c5'])
  })

  test('lists what the provider ran', () => {
    const parts = [
      { type: 'provider_call' as const, providerCallId: 'p1', name: 'search', args: { q: 'tea' } },
      { type: 'provider_result' as const, providerCallId: 'p1', name: 'search', result: ['green'] },
    ]
    const events = [said('t1'), replied('t1', 'm1', 1, { parts }), ended('t1'), replacing(1, 't2'), said('t2')]
    const [call] = openTurn(stateOf(events))!.replaced!.calls
    expect(call).toMatchObject({ name: 'search', args: { q: 'tea' }, result: { ok: true, result: ['green'] } })
    expect(unrepeatable(stateOf(events).turns)).toEqual([])
  })

  test('is ignored while a turn is open or queued, and where no turn begins', () => {
    expect(ignoredBy([...before, said('t4'), replacing(4, 't5')])).toEqual([
      'superseded withdraws turns while one has not ended',
    ])
    expect(ignoredBy([...before, replacing(5, 't4')])).toEqual([
      'superseded withdraws the turn at 5, and none begins there',
    ])
    expect(ignoredBy([...before, replacing(40, 't4')])).toHaveLength(1)
    expect(ignoredBy([...before, replacing(4, 't4')])).toEqual([])
  })

  test('leaves turns that began before its place, also where they went on after it', () => {
    const queued = [said('t1'), said('t2'), replied('t1', 'm1', 1), ended('t1'), replied('t2', 'm2', 2), ended('t2')]
    const state = stateOf([...queued, replacing(2, 't3'), said('t3')])
    expect(state.turns.map(({ turnId }) => turnId)).toEqual(['t1', 't3'])
    expect(state.turns[0]!.items).toHaveLength(2)
  })

  test('lets a withdrawn turn be looked up no more, however many were folded before it', () => {
    const many = Array.from({ length: 30 }, (_, index) => turn(`x${index}`, 3 * index + 1)).flat()
    const state = stateOf([...many, replacing(1, 'y'), ...turn('y', 92), said('x0')])
    expect(state.turns.map(({ turnId }) => turnId)).toEqual(['y', 'x0'])
  })

  test('folds the same in pieces as in one', () => {
    const events = placed([...before, replacing(4, 't4'), ...turn('t4', 15), replacing(1, 't5'), said('t5')])
    const whole = foldEvents(events)
    for (let cut = 0; cut <= events.length; cut++) {
      expect(foldEvents(events.slice(cut), foldEvents(events.slice(0, cut)))).toEqual(whole)
    }
  })

  test('does not change the state it is folded onto', () => {
    const state = stateOf(before)
    const copy = structuredClone(state)
    foldEvents(placed([replacing(4, 't4'), said('t4')], 13), state)
    expect(state).toEqual(copy)
  })
})

describe('a trimmed state', () => {
  const long = (turnId: string, seen: number): NewEvent[] => [
    said(turnId),
    replied(turnId, `m-${turnId}`, seen, { parts: [{ type: 'text', text: 'x'.repeat(5_000) }] }),
    ended(turnId),
  ]

  test('shows the turn that replaces others it no longer has', () => {
    const events = placed([...long('t1', 1), ...long('t2', 4), ...long('t3', 7), replacing(1, 't4'), said('t4')])
    const state = foldWithin(events, emptyState, 8_000)
    expect(state.isTrimmed).toBe(true)
    expect(state.turns.map(({ turnId }) => turnId)).toEqual(['t4'])
    expect(state.turns[0]!.replaced).toMatchObject({ fromSeq: 1, variants: 2 })
  })

  test('cuts what replaced calls returned', () => {
    const args = { text: 'y'.repeat(50_000) }
    const calls = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { args }), started('c1')]
    const state = stateOf([...calls, succeeded('c1'), ended('t1'), replacing(1, 't2'), said('t2')])
    const trimmed = trimState(state, 4_000)
    expect(trimmed.turns[0]!.replaced!.calls[0]!.leftOut).toBeGreaterThan(40_000)
  })
})

describe('a call that did the same before', () => {
  const again = (args: { [key: string]: string | number }): NewEvent[] => [
    ...[...before, replacing(4, 't4'), said('t4'), replied('t4', 'm5', 15, { calls: ['c2'] })],
    called('c2', { turnId: 't4', args }),
  ]
  const found = (events: NewEvent[]) => {
    const open = openTurn(stateOf(events))!
    return doneBefore(open, open.calls[0]!)?.callId ?? null
  }

  test('has the same tool and arguments, in any order of members', () => {
    expect(found(again({ amount: 50, order: 'o-17' }))).toBe('c1')
    expect(found(again({ amount: 51, order: 'o-17' }))).toBeNull()
    expect(found(again({ order: 'o-17' }))).toBeNull()
  })
})

describe('a snapshot', () => {
  test('has what was done before a turn that replaced others, without their words, and restores it', () => {
    const log = [...before, replacing(4, 't4'), ...turn('t4', 15)]
    const snapshot = takeSnapshot({ state: stateOf(log), origin: { summary: null } })
    expect(snapshot.turns[1]).toMatchObject({
      turnId: 't4',
      replaced: [{ name: 'refund', status: 'ok', result: 'done' }],
    })
    expect(JSON.stringify(snapshot)).not.toMatch(/for t[23]/)
    const read = readSnapshot(snapshot)
    if (!read.ok) throw new Error(read.problem)
    let ids = 0
    const fileOf = () => ({ type: 'text', text: '' }) as const
    const events = restoredEvents(read.snapshot, { who: 'ann', now: 0, newId: () => `new-${++ids}`, fileOf })
    expect(ignoredBy(events)).toEqual([])
    const state = stateOf(events)
    expect(state.turns).toHaveLength(2)
    expect(state.turns[1]!.replaced).toMatchObject({ variants: 2, calls: [{ name: 'refund', attempts: 1 }] })
    expect(unrepeatable(state.turns)).toHaveLength(1)
    const again = takeSnapshot({ state, origin: { summary: null } })
    expect(again.turns[1]!.replaced).toHaveLength(1)
  })
})
