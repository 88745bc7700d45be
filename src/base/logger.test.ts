import { expect, test } from 'vitest'
import { type LogDetails, rateLimited, silentLogger } from './logger.ts'

function watched() {
  const said: string[] = []
  let now = 0
  const line = (message: string, details: LogDetails = {}) =>
    [message, (details.error as Error).message, details['times']].filter(Boolean).join(' / ')
  const warn = rateLimited(
    { ...silentLogger, warn: (message, details) => void said.push(line(message, details)) },
    () => now,
  )
  return {
    said,
    fail: (message: string, error: string) => warn(message, { error: new Error(error) }),
    pass: (ms: number) => (now += ms),
  }
}

test('the same failure is told at once, and then once a minute with how often it came', () => {
  const { said, fail, pass } = watched()
  for (let time = 0; time < 240; time += 1) {
    fail('looking failed', 'no pg')
    pass(500)
  }
  expect(said).toEqual(['looking failed / no pg', 'looking failed / no pg / 120'])
})

test('another failure, and the same one of another kind of work, is told at once, and not again when they take turns', () => {
  const { said, fail } = watched()
  fail('looking failed', 'no pg')
  fail('renewing failed', 'no pg')
  fail('looking failed', 'no route')
  fail('looking failed', 'no route')
  fail('looking failed', 'no pg')
  expect(said).toEqual(['looking failed / no pg', 'renewing failed / no pg', 'looking failed / no route'])
})

test('failures whose texts all differ are told of five times a minute', () => {
  const { said, fail, pass } = watched()
  for (let n = 0; n < 100; n += 1) fail('looking failed', `no conversation 'c${n}'`)
  expect(said).toHaveLength(5)
  pass(60_000)
  fail('looking failed', 'no pg')
  expect(said).toHaveLength(6)
})

function unreadable(): never {
  throw new Error('no')
}

test.each([
  ['an object without a prototype', Object.create(null)],
  ['an error that cannot be read', Object.defineProperty(new Error(), 'message', { get: unreadable })],
])('%s that was thrown is told too, and does not throw again', (_, error) => {
  const told: unknown[] = []
  const warn = rateLimited({ ...silentLogger, warn: (_message, details) => void told.push(details) }, () => 0)
  warn('a delivery failed', { error })
  warn('a delivery failed', { error })
  expect(told).toEqual([{ error }])
})
