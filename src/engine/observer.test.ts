import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { type Observation, observerOf, traceAt, traceOf } from './observer.ts'

const one = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`
const two = `00-${'2'.repeat(32)}-${'2'.repeat(16)}-01`
const lost: Observation = { type: 'lease_lost', ref: { tenant: 't', id: 'c' } }
const to = { kind: 'agent', name: 'a' } as const
const fails = () => {
  throw new Error('no')
}

test('without observers there is none', () => {
  expect(observerOf(undefined, silentLogger)).toBeNull()
  expect(observerOf([], silentLogger)).toBeNull()
})

test('what one observer throws is logged, and the others are told', () => {
  const [told, warned]: [Observation[], string[]] = [[], []]
  const logger = { ...silentLogger, warn: (message: string) => void warned.push(message) }
  const observer = observerOf(
    [{ observe: fails, traceparent: fails }, { observe: (seen) => void told.push(seen) }],
    logger,
  )!
  observer.observe(lost)
  expect(told).toEqual([lost])
  expect(observer.traceparent?.(one, to)).toBe(one)
  expect(warned).toEqual(['an observer threw', 'an observer threw'])
})

test('an observer may name the trace of a message, but only one that is a trace', () => {
  const observe = () => {}
  const naming = (named: unknown) => observerOf({ observe, traceparent: () => named as string }, silentLogger)
  expect(traceOf({ observer: naming(two) }, undefined, to)).toEqual({ traceparent: two })
  expect(traceOf({ observer: naming('nonsense') }, one, to)).toEqual({ traceparent: one })
  expect(traceOf({ observer: naming(undefined) }, undefined, to)).toEqual({})
  expect(traceOf({ observer: null }, one, to)).toEqual({ traceparent: one })
  expect(() => traceOf({ observer: null }, 'nonsense', to)).toThrow('traceparent')
})

test('the trace of a message is read from its place, and counts only when it is one', async () => {
  const store = (event: object | null) => ({ streamEvents: async () => (event ? [event] : []) as never })
  const said = (traceparent?: unknown) => ({ type: 'user_msg', content: { traceparent } })
  expect(await traceAt(store(said(one)), 'c', 1)).toEqual({ traceparent: one })
  expect(await traceAt(store(said('x')), 'c', 1)).toEqual({})
  expect(await traceAt(store({ type: 'note', content: { traceparent: one } }), 'c', 1)).toEqual({})
  expect(await traceAt(store(null), 'c', 1)).toEqual({})
})
