import fc from 'fast-check'
import { expect, test } from 'vitest'
import { simulate } from '../../test/log/simulate.ts'
import { ended, marked, placed, replied, said } from '../../test/log/story.ts'
import type { LogEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { hideWithheld } from './hidden.ts'

const log = placed([
  said('t1'),
  marked('m1'),
  replied('t1', 'm1', 1, { object: 42, usage: { outputTokens: 5 } }),
  ended('t1', 'halted'),
  said('t2'),
  replied('t2', 'm2', 5),
  ended('t2'),
])

test('a withheld message keeps only its mark and its usage', () => {
  const shown = [...hideWithheld(log)]
  expect(shown.map(({ seq, type }) => [seq, type])).toEqual(log.map(({ seq, type }) => [seq, type]))
  expect(shown[2]!.content).toMatchObject({ messageId: 'm1', parts: [], usage: { outputTokens: 5 } })
  expect(shown[2]!.content).not.toHaveProperty('object')
  expect(shown.toSpliced(2, 1)).toEqual(log.toSpliced(2, 1))
})

test('events of which none is withheld are as they were', () => {
  const rest = log.slice(3)
  expect([...hideWithheld(rest)]).toEqual(rest)
})

test('a page that begins with the message needs the event before it', () => {
  const first = (before: LogEvent) => [...hideWithheld(log.slice(2), before)][0]!.content
  expect(first(log[1]!)).toMatchObject({ parts: [] })
  expect(first(log[0]!)).toMatchObject({ parts: [{ text: 'this is m1' }] })
})

test('over every history, pages of any size fold to what the whole log folds to, and contain nothing that is withheld', () => {
  const tape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 50, maxLength: 300, size: 'max' }))
  let withheld = 0
  fc.assert(
    fc.property(tape, fc.integer({ min: 1, max: 5 }), (numbers, size) => {
      const whole = simulate(numbers).log
      const paged: LogEvent[] = []
      for (let at = 0; at < whole.length; at += size) {
        paged.push(...hideWithheld(whole.slice(at, at + size), whole[at - 1]))
      }
      expect(foldEvents(paged)).toEqual(foldEvents(whole))
      for (const event of whole) {
        if (event.type !== 'withheld') continue
        withheld += 1
        expect(JSON.stringify(paged)).not.toContain(`this is ${event.content.messageId}"`)
      }
    }),
    { seed: 3, numRuns: 100 },
  )
  expect(withheld).toBeGreaterThan(20)
})
