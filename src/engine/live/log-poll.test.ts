import { expect, test } from 'vitest'
import { StoreClosedError } from '../../base/errors/store-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { WatchedLog } from '../../store/store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { LogPoll, type Watcher } from './log-poll.ts'

/** A poll of so many logs, over a store whose statements are counted. */
function polling(count: number, movedOf: (asked: readonly WatchedLog[]) => ConversationRef[] = () => []) {
  const clock = fakeClock()
  const asked: number[] = []
  const looked: string[] = []
  const warnings: string[] = []
  const watchers: Watcher[] = Array.from({ length: count }, (_, n) => ({
    ...{ tenant: 'default', id: `c${n}`, seq: 1, at: 1, status: null },
    look: () => void looked.push(`c${n}`),
  }))
  const store = {
    movedLogs: async (watched: readonly WatchedLog[]) => {
      asked.push(watched.length)
      return movedOf(watched)
    },
  }
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const poll = new LogPoll({ store, clock, logger, pollMs: 500 }, () => watchers)
  poll.start()
  return { poll, pass: (ms: number) => clock.advance(ms), asked, looked, warnings }
}

test.each([
  [1, 40],
  [500, 40],
  [2_000, 10],
  [10_000, 2],
  [20_000, 1],
])('%d idle logs are asked about %d times in 20 seconds', async (count, times) => {
  const { pass, asked, looked } = polling(count)
  await pass(499)
  expect(asked).toEqual([])
  // The first time after as long as one log is left alone.
  await pass(1)
  await pass(20_000)
  expect(asked).toEqual(Array.from({ length: times + 1 }, () => count))
  expect(looked).toEqual([])
})

test('where hints were lost and come again all logs are asked about at once, and once more where that was under way', async () => {
  let poll: LogPoll | null = null
  const {
    poll: begun,
    pass,
    asked,
  } = polling(2_000, () => {
    if (asked.length === 2) poll!.look()
    return []
  })
  poll = begun
  await pass(500)
  poll.look()
  await pass(0)
  expect(asked).toHaveLength(3)
  await pass(1_999)
  expect(asked).toHaveLength(3)
  await pass(1)
  expect(asked).toHaveLength(4)
  poll.stop()
  poll.look()
  await pass(0)
  expect(asked).toHaveLength(4)
})

test('nothing is asked where nothing is watched, and nothing after the end', async () => {
  const none = polling(0)
  await none.pass(2_000)
  expect(none.asked).toEqual([])
  const one = polling(1)
  await one.pass(500)
  one.poll.stop()
  await one.pass(2_000)
  expect(one.asked).toEqual([1])
})

test('only those who watch a log that has moved look at it', async () => {
  const { pass, looked } = polling(50, () => [{ tenant: 'default', id: 'c7' }])
  await pass(500)
  expect(looked).toEqual(['c7'])
})

test('a store that fails is asked again, and that is told once', async () => {
  let failures = 3
  const { pass, looked, warnings } = polling(2, () => {
    failures -= 1
    if (failures >= 0) throw new Error('away')
    return [{ tenant: 'default', id: 'c1' }]
  })
  await pass(1_500)
  expect(warnings).toEqual(['logs that are watched could not be polled; trying again'])
  await pass(500)
  expect(looked).toEqual(['c1'])
})

test('all who watch look when the store is closed, so that they hear it, and nothing is asked again', async () => {
  const { pass, asked, looked, warnings } = polling(3, () => {
    throw new StoreClosedError()
  })
  await pass(2_000)
  expect(looked).toEqual(['c0', 'c1', 'c2'])
  expect([asked, warnings]).toEqual([[3], []])
})
