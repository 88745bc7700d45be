import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ended, placed, replied, said } from '../../test/log/story.ts'
import { type Filmed, film, filmedId } from '../../test/view/film.ts'
import type { LogEvent } from '../log/events.ts'
import { emptyState } from '../log/state.ts'
import { userMsg } from '../log/validate-event.ts'
import { GrowingView, projectView } from './growing-view.ts'
import { viewOf } from './view-of.ts'

const timeout = 60_000
const tape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 20, maxLength: 150, size: 'max' }))
const liveTape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 50, maxLength: 600, size: 'max' }))
const empty = viewOf(filmedId, emptyState)

test('events that are taken at once show what they show one by one, however they are gathered', { timeout }, () => {
  let gathered = 0
  fc.assert(
    fc.property(tape, liveTape, fc.infiniteStream(fc.nat(9)), (numbers, moreNumbers, sizes) => {
      const moments = film(numbers, moreNumbers)
      let one = empty
      const all = new GrowingView(empty)
      for (let at = 0; at < moments.length; ) {
        const size = 1 + sizes.next().value
        const events: readonly Filmed[] = moments.slice(at, at + size).flat()
        one = events.reduce(projectView, one)
        for (const event of events) all.take(event)
        expect(all.view).toEqual(one)
        at += size
        gathered += events.length > 1 ? 1 : 0
      }
    }),
    { seed: 1, numRuns: 100, interruptAfterTimeLimit: timeout, markInterruptAsFailure: true },
  )
  expect(gathered).toBeGreaterThan(500)
})

test('its seq and its drafts are those of its view, before that was worked out', { timeout }, () => {
  let drafts = 0
  fc.assert(
    fc.property(tape, liveTape, (numbers, moreNumbers) => {
      const growing = new GrowingView(empty)
      let view = empty
      for (const event of film(numbers, moreNumbers).flat()) {
        growing.take(event)
        view = projectView(view, event)
        expect(growing.seq).toBe(view.seq)
        expect(growing.drafts).toEqual(view.drafts)
        if (view.drafts.length > 0) drafts += 1
      }
      expect(growing.log).toEqual(view.log)
      expect(growing.view).toEqual(view)
      expect(growing.view).toBe(growing.view)
    }),
    { seed: 2, numRuns: 60, interruptAfterTimeLimit: timeout, markInterruptAsFailure: true },
  )
  expect(drafts).toBeGreaterThan(100)
})

test('what is shown grows to two megabytes, and is then cut to one', () => {
  const growing = new GrowingView(empty)
  const text = 'x'.repeat(100 * 1024)
  const turn = (turnId: string) => {
    const question = userMsg({ turnId, message: { parts: [{ type: 'text', text }] }, options: {}, who: 'ann' })
    return [question, replied(turnId, `${turnId}-m`, 1), ended(turnId)]
  }
  const events = placed(Array.from({ length: 25 }, (_, n) => turn(`t${n}`)).flat())
  for (const event of events.slice(0, 57)) growing.take(event)
  expect([growing.log.turns.length, growing.view.before]).toEqual([19, null])
  for (const event of events.slice(57)) growing.take(event)
  expect(growing.log.turns.at(-1)?.turnId).toBe('t24')
  expect(growing.log.turns.length).toBeLessThan(15)
  expect(growing.view.before).toBe(growing.view.messages[0]!.seq)
})

test('an event of a type that is not known is refused, and what came before it is still shown', () => {
  const [question, answer] = placed([said('t1'), said('t2')])
  const growing = new GrowingView(viewOf('story', emptyState))
  growing.take(question!)
  expect(() => growing.take({ ...answer!, type: 'from_the_future' } as unknown as LogEvent)).toThrow('from_the_future')
  expect(growing.view.messages).toHaveLength(1)
  growing.take(answer!)
  expect(growing.view.messages).toHaveLength(2)
})
