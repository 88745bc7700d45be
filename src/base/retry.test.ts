import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { InvalidIdError, StoreError } from './errors/store-errors.ts'
import { retryStore } from './retry.ts'

function start(failures: readonly Error[]) {
  const clock = fakeClock()
  const warnings: string[] = []
  const controller = new AbortController()
  let asked = 0
  const ask = async () => {
    asked += 1
    if (failures[asked - 1]) throw failures[asked - 1]
    return 'here'
  }
  const warnOfStore = (text: string) => void warnings.push(text)
  const answer = retryStore(ask, { clock, warnOfStore }, { tenant: 'default', id: 'c1' }, controller.signal)
  return { clock, warnings, controller, answer, asked: () => asked }
}

test('a store that answers is asked once', async () => {
  const { answer, asked } = start([])
  expect(await answer).toBe('here')
  expect(asked()).toBe(1)
})

test('one that is away is asked again after longer and longer pauses', async () => {
  const { clock, answer, asked, warnings } = start(Array.from({ length: 9 }, () => new StoreError('away')))
  await clock.advance(50 + 100 + 200)
  expect(asked()).toBe(4)
  await clock.advance(400 + 800 + 1_600 + 3_200 + 5_000 + 5_000)
  expect(await answer).toBe('here')
  expect(warnings).toHaveLength(9)
})

test('what asking again cannot change is told at once', async () => {
  const { answer, asked } = start([new InvalidIdError('media type', 'is empty')])
  await expect(answer).rejects.toMatchObject({ code: 'invalid_id' })
  expect(asked()).toBe(1)
})

test('it stops when its signal says so', async () => {
  const { clock, controller, answer } = start(Array.from({ length: 9 }, () => new StoreError('away')))
  const refused = expect(answer).rejects.toMatchObject({ code: 'store_failed' })
  await clock.advance(10)
  controller.abort()
  await refused
})
