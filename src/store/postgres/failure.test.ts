import { describe, expect, test } from 'vitest'
import { ConversationNotFoundError } from '../../base/errors/store-errors.ts'
import { failureOf, isDuplicate, poolBusy } from './failure.ts'

function fromServer(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error('words of the server'), { severity, code })
}

const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

describe('what a failure means', () => {
  test.each([
    ['a refused connection', reset, false, 'unreachable', { ambiguous: false, retryable: true }],
    [
      'a server that starts up',
      fromServer('57P03', 'FATAL'),
      false,
      'unreachable',
      { ambiguous: false, retryable: true },
    ],
    ['a wrong password', fromServer('28P01', 'FATAL'), false, 'refused', { ambiguous: false, retryable: false }],
    ['a missing database', fromServer('3D000', 'FATAL'), false, 'refused', { ambiguous: false, retryable: false }],
    ['a connection that broke', reset, true, 'lost', { ambiguous: true, retryable: true }],
    ['a connection the server ended', fromServer('57P01', 'FATAL'), true, 'lost', { ambiguous: true, retryable: true }],
    ['a deadlock', fromServer('40P01'), true, 'rolled_back', { ambiguous: false, retryable: true }],
    ['a serialization failure', fromServer('40001'), true, 'rolled_back', { ambiguous: false, retryable: true }],
    ['a full disk', fromServer('53100'), true, 'refused', { ambiguous: false, retryable: true }],
    ['a statement that is wrong', fromServer('42601'), true, 'refused', { ambiguous: false, retryable: false }],
  ])('%s', (_, error, isSent, kind, told) => {
    const failure = failureOf(error, isSent)
    expect(failure).toMatchObject({ kind, error: { code: 'store_failed', cause: error, ...told } })
    expect(failure.error.message).not.toContain(error.message)
  })

  test.each([TypeError, RangeError, ReferenceError])('a %o of code is a bug, and passed on as it is', (Bug) => {
    const bug = new Bug('of code')
    expect(failureOf(bug, true)).toEqual({ kind: 'refused', error: bug })
  })

  test.each(['53', '57', '58', '55', '25'])('a state of class %s passes by itself', (state) => {
    expect(failureOf(fromServer(`${state}000`), true)).toMatchObject({ kind: 'refused', error: { retryable: true } })
  })

  test('an error of the server without a state is one of the server all the same', () => {
    const error = Object.assign(new Error('words of the server'), { severity: 'ERROR' })
    expect(failureOf(error, true)).toMatchObject({ kind: 'refused', error: { retryable: false } })
    expect(failureOf(fromServer('XX000', 'PANIC'), true)).toMatchObject({ kind: 'lost' })
    expect(failureOf('a text', false)).toMatchObject({ kind: 'unreachable', error: { retryable: true } })
  })

  test('a pool that is busy says how many connections it has, and for how long', () => {
    expect(poolBusy(1, 70)).toMatchObject({ retryable: true, message: expect.stringContaining('The 1 connection of') })
    expect(poolBusy(4, 70).message).toContain('All 4 connections of the pool were busy for 70 ms')
  })

  test('a duplicate is known by its state', () => {
    expect(isDuplicate(failureOf(fromServer('23505'), true).error)).toBe(true)
    expect(isDuplicate(failureOf(fromServer('23503'), true).error)).toBe(false)
    expect(isDuplicate(fromServer('23505'))).toBe(false)
  })

  test('an error of our own is passed on as it is', () => {
    const error = new ConversationNotFoundError('a')
    expect(failureOf(error, true)).toEqual({ kind: 'refused', error })
  })

  test('a connection string that cannot be read is not quoted', () => {
    const error = thrownBy(() => new URL('postgres://user:secret@host:port/db'))
    const { error: told } = failureOf(error, false)
    expect(told).toMatchObject({ code: 'invalid_argument' })
    expect(JSON.stringify([told.message, told.cause ?? null, told.stack])).not.toContain('secret')
  })
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
    return null
  } catch (error) {
    return error
  }
}
