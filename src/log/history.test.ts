import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkHistory } from '../../test/log/check-history.ts'
import { resume, simulate } from '../../test/log/simulate.ts'
import type { EventType } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { phaseOf } from './fsm-state.ts'
import { nextStep } from './next-step.ts'
import { baseOf, stateSince } from './state.ts'

/** What must hold for every history that people, clients, crashes and one owner can bring about. */
const tape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 50, maxLength: 400, size: 'max' }))
const timeout = 60_000
/** Shrinking a history that never ends takes a while; the failure is reported all the same. */
const patient = { interruptAfterTimeLimit: timeout, markInterruptAsFailure: true }
const nothingRuns: ReadonlySet<string> = new Set()

describe('every history', { timeout }, () => {
  test('ends, with every turn and every call ended once, no effect repeated, and no outcome settled twice', () => {
    const seen = new Set<EventType>()
    fc.assert(
      fc.property(tape, (numbers) => {
        const { log, runs } = simulate(numbers)
        checkHistory(log)
        expect(new Set(runs).size).toBe(runs.length)
        for (const event of log) seen.add(event.type)
      }),
      { ...patient, seed: 1, numRuns: 500 },
    )
    const first = ['assistant_msg', 'cancel_requested', 'halted_by', 'regeneration', 'resolution', 'state_refused']
    const last = ['tool_call', 'tool_result', 'tool_started', 'turn_ended', 'user_msg', 'withheld']
    expect([...seen].sort()).toEqual([...first, 'state_set', 'suspension', ...last])
  })

  test('ends after a crash at any of its events', () => {
    fc.assert(
      fc.property(tape, fc.array(fc.nat(5_039), { maxLength: 20 }), fc.nat(), (numbers, more, at) => {
        const { log } = simulate(numbers)
        const crashed = log.slice(0, at % (log.length + 1))
        const resumed = resume(crashed, more)
        checkHistory(resumed.log)
        expect(resumed.log.slice(0, crashed.length)).toEqual(crashed)
      }),
      { ...patient, seed: 2, numRuns: 500 },
    )
  })

  test('folds to the same state at once and in two halves, at every split', () => {
    fc.assert(
      fc.property(tape, (numbers) => {
        const { log } = simulate(numbers)
        const whole = foldEvents(log)
        expect(foldEvents(log)).toEqual(whole)
        for (let split = 0; split <= log.length; split++) {
          expect(foldEvents(log.slice(split), foldEvents(log.slice(0, split)))).toEqual(whole)
        }
      }),
      { ...patient, seed: 3, numRuns: 100 },
    )
  })

  test('is decided alike from the base of a summary, wherever the summary ends', () => {
    fc.assert(
      fc.property(tape, (numbers) => {
        const { log } = simulate(numbers)
        for (let split = 0; split <= log.length; split++) {
          const at = split + Math.floor((log.length - split) / 2)
          const whole = foldEvents(log.slice(0, at))
          const revived = foldEvents(log.slice(split, at), baseOf(foldEvents(log.slice(0, split))))
          expect(revived).toEqual(stateSince(whole, split))
          expect(baseOf(revived)).toEqual(baseOf(whole))
          expect(nextStep(revived, nothingRuns)).toEqual(nextStep(whole, nothingRuns))
        }
      }),
      { ...patient, seed: 4, numRuns: 100 },
    )
  })

  test('awaits input exactly when the owner parks for it', () => {
    fc.assert(
      fc.property(tape, (numbers) => {
        const { log } = simulate(numbers)
        for (let at = 0; at <= log.length; at++) {
          const state = foldEvents(log.slice(0, at))
          const step = nextStep(state, nothingRuns)
          const isParked = step.type === 'park' && step.state === 'awaiting_input'
          // Ending the cancelled turns of the queue comes first; after it the answer is the same.
          if (step.type === 'commit' && step.events.every((event) => event.type === 'turn_ended')) continue
          expect(phaseOf(state) === 'awaiting_input').toBe(isParked)
        }
      }),
      { ...patient, seed: 5, numRuns: 100 },
    )
  })
})
