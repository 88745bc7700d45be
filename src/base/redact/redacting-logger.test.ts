import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { PerdureError } from '../errors/perdure-error.ts'
import { StoreError } from '../errors/store-errors.ts'
import type { LogDetails, Logger } from '../logger.ts'
import { redactingLogger } from './redacting-logger.ts'
import { createRedactor } from './redactor.ts'

const secret = 'hunter2hunter2'
const text = `cannot reach postgres://app:${secret}@db`

function listening() {
  const lines: [string, LogDetails | undefined][] = []
  const take = (message: string, details?: LogDetails) => void lines.push([message, details])
  const inner: Logger = { debug: take, info: take, warn: take, error: take }
  return { lines, logger: redactingLogger(inner, createRedactor({ env: {} })) }
}

test('messages and details are told without their secrets, on every level', () => {
  const { lines, logger } = listening()
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    logger[level](text, { tenant: 'acme', n: 3, list: [text], nested: { deep: { text } } })
  }
  expect(lines).toHaveLength(4)
  expect(inspect(lines, { depth: 20 })).not.toContain(secret)
  expect(lines[0]?.[1]).toMatchObject({ tenant: 'acme', n: 3, nested: { deep: { text: expect.any(String) } } })
})

test('an error stays one of its class, with its code, stack and causes, and without its secrets', () => {
  const { lines, logger } = listening()
  const cause = Object.assign(new Error(text), { connection: { password: `password=${secret}` } })
  logger.error('it failed', { error: new StoreError(text, { cause }) })
  const told = lines[0]?.[1]?.error as StoreError
  expect(told).toBeInstanceOf(StoreError)
  expect(PerdureError.isInstance(told)).toBe(true)
  expect(told.code).toBe('store_failed')
  expect(told.stack).toContain('redacting-logger.test')
  expect((told.cause as Error).message).toBe('cannot reach postgres://[redacted]@db')
  expect(inspect(told, { depth: 20, showHidden: true })).not.toContain(secret)
})

test('what cannot be read does not make it throw', () => {
  const { lines, logger } = listening()
  const unreadable = new Proxy(new Error('x'), {
    get() {
      throw new Error(secret)
    },
  })
  const own: Record<string, unknown> = {}
  own['itself'] = own
  logger.error('it failed', { error: unreadable, own })
  expect(inspect(lines, { depth: 20 })).not.toContain(secret)
})

test('what is huge is cut', () => {
  const { lines, logger } = listening()
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key${index}`, 'x'.repeat(100)]))
  logger.warn('x'.repeat(1_000_000), { many, list: Array.from({ length: 100_000 }, () => text) })
  expect(JSON.stringify(lines).length).toBeLessThan(100_000)
})

test('a date, a number and a function are told as what they are', () => {
  const { lines, logger } = listening()
  const date = new Date(0)
  logger.info('x', { date, n: 3, is: true, none: null, run: () => secret })
  expect(lines[0]![1]).toEqual({ date, n: 3, is: true, none: null, run: '[function]' })
  expect((lines[0]![1] as { date: Date }).date).toBe(date)
})
