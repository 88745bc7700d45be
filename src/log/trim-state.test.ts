import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { simulate } from '../../test/log/simulate.ts'
import { called, ended, noted, placed, replied, said, started, stateOf, suspended } from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import { viewOf } from '../view/view-of.ts'
import type { NewEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { phaseOf } from './fsm-state.ts'
import { type ConversationState, emptyState, openTurn, queuedTurns, usageOf } from './state.ts'
import { foldWithin, stateWeight, trimState } from './trim-state.ts'
import { toolResult, userMsg } from './validate-event.ts'

const long = 'x'.repeat(100_000)

const asked = (turnId: string, text = long): NewEvent =>
  userMsg({ turnId, message: { parts: [{ type: 'text', text }] }, options: {}, who: 'ann' })
const gave = (callId: string, result: Json = long): NewEvent => toolResult({ callId, ok: true, result })
const shown = (state: ConversationState) => viewOf('story', state)

/** A turn of so many steps, each with a call that gave much. */
function steps(count: number): NewEvent[] {
  const ofStep = (n: number): NewEvent[] => {
    const usage = { inputTokens: 1 }
    return [replied('t1', `m${n}`, 1, { calls: [`c${n}`], usage }), called(`c${n}`), started(`c${n}`), gave(`c${n}`)]
  }
  return [said('t1'), ...Array.from({ length: count }, (_, n) => ofStep(n)).flat()]
}

describe('a state that is too large', () => {
  test('is the same object where it fits', () => {
    const state = stateOf([asked('t1'), ended('t1')])
    expect(trimState(state, 200_000)).toBe(state)
    expect(shown(state).before).toBeNull()
  })

  test('loses the notes of the turns it loses, and the oldest beyond a quarter of what it may weigh', () => {
    const log = ['t1', 't2', 't3', 't4'].flatMap((turnId) => [asked(turnId), noted(`in ${turnId}`), ended(turnId)])
    const trimmed = trimState(stateOf(log), 250_000)
    expect(trimmed.notes!.map(({ name }) => name)).toEqual(['in t3', 'in t4'])
    const many = Array.from({ length: 5 }, (_, n) => noted(`n${n}`, long))
    const noisy = trimState(stateOf([asked('t1', 'hi'), ...many]), 450_000)
    expect([noisy.notes!.map(({ name }) => name), noisy.notesLeftOut]).toEqual([['n4'], 5])
    expect(stateWeight(noisy)).toBeLessThan(450_000 / 4)
  })

  test('loses its oldest ended turns first, and sets hasOlder', () => {
    const turns = ['t1', 't2', 't3', 't4'].flatMap((turnId) => [asked(turnId), ended(turnId)])
    const trimmed = trimState(stateOf(turns), 250_000)
    expect(trimmed.turns.map(({ turnId }) => turnId)).toEqual(['t3', 't4'])
    expect(shown(trimmed)).toMatchObject({ before: 5, messages: [{ seq: 5 }, { seq: 7 }] })
    expect(trimmed).toMatchObject({ isTrimmed: true, hasOlder: true, lastSeq: 8 })
  })

  test('keeps turns that have not ended, however many come after', () => {
    const trimmed = trimState(stateOf([asked('t1'), asked('t2'), asked('t3')]), 1_000)
    expect([openTurn(trimmed)?.turnId, ...queuedTurns(trimmed).map(({ turnId }) => turnId)]).toEqual(['t1', 't2', 't3'])
  })

  test('keeps the calls of its first steps that have not ended, with the messages they belong to', () => {
    const waiting = [said('t1'), replied('t1', 'm0', 1, { calls: ['c0'] }), called('c0'), suspended('c0', 'approval')]
    const trimmed = trimState(stateOf([...waiting, asked('t1'), asked('t1')]), 150_000)
    const [turn] = trimmed.turns
    expect(turn!.items.map(({ type }) => type)).toEqual(['assistant', 'user', 'user'])
    expect(turn!.calls.map(({ callId }) => callId)).toEqual(['c0'])
    expect(phaseOf(trimmed)).toBe(phaseOf(stateOf(waiting)))
  })

  test('loses the first steps of a long turn, and remembers what they used and how many they were', () => {
    const whole = stateOf(steps(10))
    const trimmed = trimState(whole, 350_000)
    const [turn] = trimmed.turns
    expect(turn!.items).toHaveLength(3)
    expect(turn!.calls.map(({ callId }) => callId)).toEqual(['c7', 'c8', 'c9'])
    expect(turn!.leftOut?.messages).toBe(7)
    expect(usageOf(turn!)).toEqual(usageOf(whole.turns[0]!))
    expect(shown(trimmed).before).toBe(turn!.items[0]!.seq)
    const again = trimState(trimmed, 150_000)
    expect(again.turns[0]!.leftOut?.messages).toBe(9)
    expect(usageOf(again.turns[0]!)).toEqual({ inputTokens: 10 })
  })

  test('cuts long fields of a single message, oldest first, and names the events that have them', () => {
    const calls = ['c1', 'c2', 'c3']
    const events = [said('t1'), replied('t1', 'm1', 1, { calls }), ...calls.map((callId) => called(callId))]
    const state = stateOf([
      ...events,
      ...calls.map((callId) => started(callId)),
      ...calls.map((callId) => gave(callId)),
    ])
    const message = shown(trimState(state, 150_000)).messages.at(-1)!
    const [first, second, third] = message.parts.flatMap((part) => (part.type === 'call' ? [part] : []))
    expect(first).toMatchObject({ phase: 'ended', end: { ok: true }, leftOut: { seqs: [3, 9] } })
    expect(first!.leftOut!.bytes).toBeGreaterThan(99_000)
    expect(JSON.stringify(first!.end).length).toBeLessThan(1_000)
    expect(second).toHaveProperty('leftOut')
    expect(third).not.toHaveProperty('leftOut')
    expect(third!.end).toEqual({ ok: true, result: long })
  })

  test('cuts pending calls last, and says when even those are cut', () => {
    const waiting = [
      ...[asked('t1'), replied('t1', 'm1', 1, { calls: ['c1', 'c2'] })],
      ...[called('c1', { gated: true, args: long }), called('c2', { args: long }), started('c2'), gave('c2')],
      suspended('c1', 'approval'),
    ]
    const kept = shown(trimState(stateOf(waiting), 150_000))
    expect(kept.pending).toMatchObject([{ callId: 'c1', args: long }])
    expect(kept.pending[0]).not.toHaveProperty('leftOut')
    expect(kept).toMatchObject({ before: 2, messages: [{ messageId: 'm1' }] })
    const [, , ended] = kept.messages[0]!.parts
    expect(ended).toMatchObject({ callId: 'c2', leftOut: { seqs: [4, 6] } })
    const [pending] = shown(trimState(stateOf(waiting), 10_000)).pending
    expect(pending).toMatchObject({ callId: 'c1', leftOut: { seqs: [3, 7] } })
    expect(String(pending!.args).length).toBeLessThan(1_000)
  })

  test('weighs many small values by what they take in memory', () => {
    const shattered = Array.from({ length: 30_000 }, () => ({}))
    expect(
      stateWeight(stateOf([...steps(0), replied('t1', 'm', 1, { calls: ['c'] }), called('c'), gave('c', shattered)])),
    ).toBeGreaterThan(1_000_000)
  })
})

describe('folding within a bound', () => {
  test('holds little, however long the log is', () => {
    const log = placed(steps(300))
    const state = foldWithin(log, emptyState, 1_000_000)
    expect(stateWeight(state)).toBeLessThan(1_200_000)
    expect(state.lastSeq).toBe(log.length)
    expect(usageOf(state.turns[0]!)).toEqual({ inputTokens: 300 })
  })

  test('holds little, also when it continues page by page', () => {
    const log = placed(steps(300))
    let state = emptyState
    for (let from = 0; from < log.length; from += 10) {
      state = foldWithin(log.slice(from, from + 10), state, 1_000_000)
      expect(stateWeight(state)).toBeLessThan(1_200_000)
    }
    expect(usageOf(state.turns[0]!)).toEqual({ inputTokens: 300 })
  })

  test('does not try again with every event where nothing more can be left out', () => {
    const calls = Array.from({ length: 2_000 }, (_, n) => `c${n}`)
    const open = [said('t1'), replied('t1', 'm1', 1, { calls }), ...calls.map((callId) => called(callId))]
    let state = emptyState
    let trims = 0
    for (const event of placed(open)) {
      const { turns } = state
      state = foldWithin([event], state, 10_000)
      if (turns[0] && state.turns[0]!.calls.length > 0 && state.turns[0]!.calls[0] !== turns[0].calls[0]) trims += 1
    }
    expect(state.turns[0]!.calls).toHaveLength(2_000)
    expect(trims).toBeLessThan(20)
  })

  test('keeps the phase, pending calls, usage and newest messages of any history', () => {
    const tape = fc.array(fc.nat({ max: 10_000 }), { minLength: 10, maxLength: 120 })
    fc.assert(
      fc.property(tape, fc.integer({ min: 1, max: 20_000 }), (numbers, most) => {
        const { log } = simulate(numbers)
        for (const at of [Math.floor(log.length / 2), log.length]) {
          const whole = foldEvents(log.slice(0, at))
          const bounded = foldWithin(log.slice(0, at), emptyState, most)
          expect(phaseOf(bounded)).toBe(phaseOf(whole))
          expect(openTurn(bounded)?.turnId).toBe(openTurn(whole)?.turnId)
          expect(queuedTurns(bounded).map(({ turnId }) => turnId)).toEqual(
            queuedTurns(whole).map(({ turnId }) => turnId),
          )
          const [all, some] = [shown(whole), shown(bounded)]
          expect(some.pending.map(({ callId, round }) => [callId, round])).toEqual(
            all.pending.map(({ callId, round }) => [callId, round]),
          )
          expect(some.messages.map(({ seq }) => seq)).toEqual(
            some.messages.length === 0 ? [] : all.messages.slice(-some.messages.length).map(({ seq }) => seq),
          )
          if (some.messages.length < all.messages.length) expect(some.before).not.toBeNull()
          const last = whole.turns.at(-1)
          if (last) expect(usageOf(bounded.turns.at(-1)!)).toEqual(usageOf(last))
        }
      }),
      { seed: 11, numRuns: 150 },
    )
  })
})
