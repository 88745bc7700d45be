import { APICallError } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { createRedactor } from '../base/redact/redactor.ts'
import { faultOf } from './fault.ts'

const redact = createRedactor({ env: {} })

const apiError = (statusCode: number, more: object = {}) =>
  new APICallError({ message: 'no', url: 'https://host', requestBodyValues: {}, statusCode, ...more })

test.each([
  ['as it is', 'a'.repeat(500), 'a'.repeat(500)],
  ['cut', `${'a'.repeat(500)}b`, `${'a'.repeat(500)}...`],
  ['cut, and no pair of surrogates in half', `${'a'.repeat(499)}😀`, `${'a'.repeat(499)}\ufffd...`],
  ['in one line', ' a\n\n b\t', 'a b'],
])("a provider's text is told %s", (_, text, problem) => {
  expect(faultOf(text, 0, redact).problem).toBe(problem)
  expect(faultOf({ message: text }, 0, redact).problem).toBe(problem)
})

describe('faultOf', () => {
  test.each([
    [302, 'model_failed', false],
    [399, 'model_failed', false],
    [400, 'model_rejected', false],
    [401, 'model_unauthorized', false],
    [403, 'model_unauthorized', false],
    [404, 'model_rejected', false],
    [408, 'model_failed', true],
    [409, 'model_failed', true],
    [413, 'model_rejected', false],
    [422, 'model_rejected', false],
    [429, 'model_rate_limited', true],
    [500, 'model_failed', true],
    [502, 'model_failed', true],
    [503, 'model_overloaded', true],
    [504, 'model_timed_out', true],
    [529, 'model_overloaded', true],
  ])('status %i is %s, retryable: %s', (status, code, isRetryable) => {
    expect(faultOf(apiError(status), 0, redact)).toMatchObject({ code, isRetryable, statusCode: status, problem: 'no' })
    // The same from a copy of the class that knows nothing of retries.
    expect(faultOf({ statusCode: status, message: 'no' }, 0, redact)).toMatchObject({ code, isRetryable })
  })

  test.each([
    ['a provider that rules a retry out', apiError(429, { isRetryable: false }), 'model_rate_limited', false],
    ['one that rules it out for a fault of its own', apiError(500, { isRetryable: false }), 'model_failed', true],
    ['a provider that allows one', apiError(400, { isRetryable: true }), 'model_rejected', true],
    ['an answer that could not be read', apiError(200), 'model_failed', false],
    [
      'a fetch that failed',
      withCause(new TypeError('fetch failed'), { code: 'ECONNREFUSED' }),
      'model_unreachable',
      true,
    ],
    ['a cut connection', Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }), 'model_unreachable', true],
    ['a timeout of undici', { code: 'UND_ERR_HEADERS_TIMEOUT', message: 'no' }, 'model_timed_out', true],
    ['a timeout', new DOMException('too slow', 'TimeoutError'), 'model_timed_out', true],
    ['a host without an address', { code: 'ENOTFOUND' }, 'model_unreachable', true],
    ['what the AI SDK makes of such', connectionError(), 'model_unreachable', true],
    [
      'an overloaded provider in the stream',
      { type: 'overloaded_error', message: 'Overloaded' },
      'model_overloaded',
      true,
    ],
    ['the same one level down', { type: 'error', error: { type: 'overloaded_error' } }, 'model_overloaded', true],
    ['a rate limit in the stream', { code: 'rate_limit_exceeded' }, 'model_rate_limited', true],
    ['a server error in the stream', { type: 'server_error', message: 'oops' }, 'model_unreachable', true],
    ['a wrong key in the stream', { type: 'authentication_error' }, 'model_unauthorized', false],
    ['a bad request in the stream', { type: 'invalid_request_error' }, 'model_rejected', false],
    ['a bug in a provider', new TypeError("Cannot read properties of undefined (reading 'x')"), 'model_failed', false],
    ['a string', 'boom', 'model_failed', false],
    ['undefined', undefined, 'model_failed', false],
    ['null', null, 'model_failed', false],
    ['a number', 7, 'model_failed', false],
    ['a status that is not a number', { statusCode: '429' }, 'model_failed', false],
  ])('understands %s', (_, error, code, isRetryable) => {
    expect(faultOf(error, 0, redact)).toMatchObject({ code, isRetryable })
  })

  test('reads how long to wait from the headers of the answer', () => {
    expect(faultOf(apiError(429, { responseHeaders: { 'retry-after': '3' } }), 0, redact).retryAfterMs).toBe(3000)
  })

  test('ends on an error that is its own cause', () => {
    const error = new Error('')
    error.cause = error
    expect(faultOf(error, 0, redact)).toMatchObject({ code: 'model_failed', problem: '' })
  })

  test('takes the message of what was wrapped when the wrapper has none', () => {
    expect(faultOf({ error: { message: 'inner' } }, 0, redact).problem).toBe('inner')
  })

  test('holds nothing of the request', () => {
    const error = new APICallError({
      message: 'Incorrect API key provided: sk-live-0123456789abcdef',
      url: 'https://host/v1?key=hidden-1',
      requestBodyValues: { messages: 'hidden-2', headers: { authorization: 'hidden-3' } },
      responseHeaders: { 'set-cookie': 'hidden-4' },
      responseBody: 'hidden-5',
      data: 'hidden-6',
      statusCode: 401,
    })
    const text = JSON.stringify(faultOf(error, 0, redact))
    expect(text).not.toMatch(/hidden|0123456789abcdef/)
  })
})

function withCause(error: Error, cause: object): Error {
  error.cause = Object.assign(new Error('inner'), cause)
  return error
}

function connectionError(): APICallError {
  return new APICallError({
    message: 'Cannot connect to API: x',
    url: 'https://host',
    requestBodyValues: {},
    isRetryable: true,
  })
}
