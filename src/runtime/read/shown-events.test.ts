import { expect, test } from 'vitest'
import { called, marked, placed, replied, said, succeeded } from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { eventBefore } from './turn-events.ts'

const before = (events: readonly NewEvent[], seq: number) => {
  const log = placed(events)
  const read = async ({ after = 0, before: end = 99 }) => log.filter((event) => event.seq > after && event.seq < end)
  return eventBefore(read, log[seq - 1])
}

test('of what comes before a page, only the mark of its first message is held', async () => {
  const log = [said('t1'), called('c1'), succeeded('c1'), replied('t1', 'm1', 1), marked('m2'), replied('t1', 'm2', 4)]
  expect(await before(log, 4)).toBe(null)
  expect(await before(log, 5)).toBe(null)
  expect(await before(log, 6)).toMatchObject({ type: 'withheld', content: { messageId: 'm2' } })
})
