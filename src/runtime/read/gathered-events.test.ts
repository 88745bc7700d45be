import { expect, test } from 'vitest'
import { placed, said, succeeded } from '../../../test/log/story.ts'
import { weightOf } from '../../log/abridge.ts'
import type { LogEvent } from '../../log/events.ts'
import { toolResult } from '../../log/validate-event.ts'
import type { EventPage } from '../../store/store.ts'
import { GatheredEvents, sizeOf } from './turn-events.ts'

const long = 'x'.repeat(5_000)
const results = (count: number, after = 0): LogEvent[] =>
  placed(
    Array.from({ length: count }, (_, index) => toolResult({ callId: `c${index}`, ok: true, result: long })),
    after,
  )
const pageOf = (events: readonly LogEvent[]): EventPage => {
  return { events, first: events[0] ?? null, last: events.at(-1) ?? null, hasMore: false } as unknown as EventPage
}
const isWhole = (event: LogEvent) => sizeOf(event) === weightOf(event.content)
const shape = (gathered: GatheredEvents) =>
  gathered.events.map((event) => `${event.seq}${isWhole(event) ? '' : ' abridged'}`)
const each = sizeOf(results(1)[0]!)

test('events that are read backwards keep their order; the newest that fit are whole, of the others the beginnings', () => {
  const gathered = new GatheredEvents(3 * each)
  expect(gathered.addBefore(pageOf(results(2, 2)))).toBe(null)
  expect([shape(gathered), gathered.isFull]).toEqual([['3', '4'], false])
  gathered.addBefore(pageOf(results(2)))
  expect([shape(gathered), gathered.isFull]).toEqual([['1 abridged', '2', '3', '4'], true])
  // What was left out counts as what it took, and no less: a page that is full is cut.
  const size = gathered.events.reduce((sum, event) => sum + sizeOf(event), 0)
  expect(size).toBeGreaterThanOrEqual(4 * each)
  expect(Math.abs(size - 4 * each)).toBeLessThan(100)
})

test('what fits to the last byte is whole', () => {
  const gathered = new GatheredEvents(2 * each)
  gathered.addBefore(pageOf(results(2)))
  expect([shape(gathered), gathered.isFull]).toEqual([['1', '2'], false])
})

test('the oldest make room for what comes after them, and the newest stays whole', () => {
  const gathered = new GatheredEvents(2 * each + 2_000)
  for (const event of results(4)) gathered.push(event)
  expect(shape(gathered)).toEqual(['1 abridged', '2 abridged', '3', '4'])
  expect(gathered.isFull).toBe(true)
  const small = new GatheredEvents(1)
  for (const event of results(2)) small.push(event)
  expect(shape(small)).toEqual(['1 abridged', '2'])
})

test('what was let go of makes room again', () => {
  const gathered = new GatheredEvents(2 * each + 2_000)
  for (const event of results(4)) gathered.push(event)
  gathered.keepOnly(gathered.events.slice(1))
  expect([shape(gathered), gathered.isFull]).toEqual([['2 abridged', '3', '4'], true])
  gathered.keepOnly(gathered.events.slice(2))
  expect([shape(gathered), gathered.isFull]).toEqual([['4'], false])
  gathered.push(results(1, 4)[0]!)
  expect(shape(gathered)).toEqual(['4', '5'])
  gathered.push(results(1, 5)[0]!)
  expect(shape(gathered)).toEqual(['4 abridged', '5', '6'])
})

test('before an event that is not known, what comes after it is let go of', () => {
  const gathered = new GatheredEvents(10 * each)
  gathered.addBefore(pageOf(results(2, 3)))
  const [first, later] = placed([said('t1'), succeeded('c1')])
  const unknown = { ...later!, type: 'of_tomorrow' } as unknown as LogEvent
  expect(gathered.addBefore(pageOf([first!, unknown]))).toMatchObject({ seq: 2, type: 'of_tomorrow' })
  expect([shape(gathered), gathered.isFull]).toEqual([['1'], false])
})
