import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Filmed, film, filmedId } from '../../test/view/film.ts'
import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { emptyState } from '../log/state.ts'
import { projectView } from './growing-view.ts'
import { nothingLive, withLive, withoutSettled } from './live-events.ts'
import type { View } from './view.ts'
import { viewOf } from './view-of.ts'

const timeout = 60_000
const patient = { interruptAfterTimeLimit: timeout, markInterruptAsFailure: true }
const tape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 20, maxLength: 150, size: 'max' }))
const liveTape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 50, maxLength: 600, size: 'max' }))

const empty = viewOf(filmedId, emptyState)

function isLogged(event: Filmed): event is LogEvent {
  return 'content' in event
}

function project(events: readonly Filmed[], from: View = empty): View {
  return events.reduce(projectView, from)
}

/** The view of a log that has ended: nothing is live beside it. */
function viewOfLog(events: readonly Filmed[]): View {
  return viewOf(filmedId, foldEvents(events.filter(isLogged)))
}

/** The view of a reader who joins after these events. */
function snapshotAfter(events: readonly Filmed[]): View {
  let live = nothingLive
  for (const event of events) live = isLogged(event) ? withoutSettled(live, event) : withLive(live, event)
  return viewOf(filmedId, foldEvents(events.filter(isLogged)), live)
}

describe('for any interleaving of log and live events', { timeout }, () => {
  test('applying the tail to an empty view gives the view folded from the log', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(tape, liveTape, (numbers, moreNumbers) => {
        const events = film(numbers, moreNumbers).flat()
        expect(project(events)).toEqual(viewOfLog(events))
        for (const event of events) seen.add(event.type)
      }),
      { ...patient, seed: 1, numRuns: 200 },
    )
    for (const type of ['text_delta', 'tool_input_delta', 'message_discarded', 'tool_progress', 'phase_changed']) {
      expect(seen).toContain(type)
    }
  })

  test('a reader who joins at any moment sees what the others see, then and afterwards', () => {
    let drafts = 0
    let progress = 0
    fc.assert(
      fc.property(tape, liveTape, (numbers, moreNumbers) => {
        const moments = film(numbers, moreNumbers)
        let watched = empty
        for (const [index, moment] of moments.entries()) {
          watched = project(moment, watched)
          const joined = snapshotAfter(moments.slice(0, index + 1).flat())
          expect(joined).toEqual(watched)
          if (joined.drafts.length > 0) drafts += 1
          if (Object.keys(joined.progress).length > 0) progress += 1
        }
      }),
      { ...patient, seed: 2, numRuns: 40 },
    )
    expect(drafts).toBeGreaterThan(100)
    expect(progress).toBeGreaterThan(10)
  })

  test('losing any of the live events loses nothing in the end', () => {
    fc.assert(
      fc.property(tape, liveTape, fc.infiniteStream(fc.boolean()), (numbers, moreNumbers, isKept) => {
        const events = film(numbers, moreNumbers)
          .flat()
          .filter((event) => isLogged(event) || isKept.next().value)
        expect(project(events)).toEqual(viewOfLog(events))
      }),
      { ...patient, seed: 3, numRuns: 100 },
    )
  })

  test('applying an event twice changes nothing, at once and, for those of the log, at any time later', () => {
    fc.assert(
      fc.property(tape, liveTape, fc.nat(), (numbers, moreNumbers, at) => {
        const events = film(numbers, moreNumbers).flat()
        let view = empty
        for (const event of events) {
          view = projectView(view, event)
          expect(projectView(view, event)).toEqual(view)
          const earlier = events[at % events.length]!
          if (isLogged(earlier) && earlier.seq <= view.seq) expect(projectView(view, earlier)).toBe(view)
        }
      }),
      { ...patient, seed: 4, numRuns: 40 },
    )
  })

  test('an event past a gap changes nothing, so that the reader notices by its seq', () => {
    fc.assert(
      fc.property(tape, (numbers) => {
        const events = film(numbers, []).flat().filter(isLogged)
        const view = project(events.slice(0, 2))
        for (const event of events.slice(3)) expect(projectView(view, event)).toBe(view)
      }),
      { ...patient, seed: 5, numRuns: 20 },
    )
  })
})

test('a snapshot replaces the view', () => {
  const other = viewOf('other', emptyState)
  expect(projectView(empty, { type: 'snapshot', view: other })).toBe(other)
})
