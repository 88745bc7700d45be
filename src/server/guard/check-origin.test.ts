import { expect, test } from 'vitest'
import { checkOrigin, corsHeaders, preflight } from './read-body.ts'

function asked(headers: Record<string, string>): Request {
  return new Request('http://app.test/', { headers: { host: 'App.test', ...headers } })
}

function mayCall(headers: Record<string, string>, allowed: readonly string[] = []): boolean {
  try {
    checkOrigin(asked(headers), allowed)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'origin_not_allowed' })
    return false
  }
}

test('a page of the same host may call, whatever the case of its name', () => {
  expect(mayCall({ origin: 'http://app.test' })).toBe(true)
  expect(mayCall({ origin: 'https://app.test' })).toBe(true)
  expect(mayCall({ origin: 'http://app.test:81' })).toBe(false)
})

test('pages of other origins may call only when they are listed, letter by letter', () => {
  expect(mayCall({ origin: 'http://other.test' })).toBe(false)
  expect(mayCall({ origin: 'http://other.test' }, ['http://other.test'])).toBe(true)
  expect(mayCall({ origin: 'http://other.test' }, ['https://other.test'])).toBe(false)
})

test('an origin that is no address of the web, or none at all, is refused', () => {
  expect(mayCall({ origin: 'null' })).toBe(false)
  expect(mayCall({ origin: 'ftp://app.test' })).toBe(false)
  expect(mayCall({ origin: 'http://' })).toBe(false)
  expect(mayCall({ origin: 'null' }, ['null'])).toBe(true)
})

test('a request without an origin may call unless it says that it comes from another site', () => {
  expect(mayCall({})).toBe(true)
  expect(mayCall({ 'sec-fetch-site': 'same-origin' })).toBe(true)
  expect(mayCall({ 'sec-fetch-site': 'cross-site' })).toBe(false)
  // One that is listed comes from another site, too.
  expect(mayCall({ origin: 'http://other.test', 'sec-fetch-site': 'cross-site' }, ['http://other.test'])).toBe(true)
})

test('only a listed page is told that its browser may hand it the answer', () => {
  const allowed = ['http://other.test']
  expect(corsHeaders(asked({ origin: 'http://other.test' }), allowed)).toEqual({
    'access-control-allow-origin': 'http://other.test',
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'retry-after',
    vary: 'origin',
  })
  expect(corsHeaders(asked({ origin: 'http://app.test' }), allowed)).toEqual({})
  expect(corsHeaders(asked({}), allowed)).toEqual({})
})

test('a browser that asks beforehand is answered for listed pages, and refused for others', async () => {
  const response = preflight(asked({ origin: 'http://other.test' }), ['http://other.test'])
  expect([response.status, await response.text()]).toEqual([204, ''])
  expect(Object.fromEntries(response.headers)).toEqual({
    'access-control-allow-origin': 'http://other.test',
    'access-control-allow-credentials': 'true',
    'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id',
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-expose-headers': 'retry-after',
    'access-control-max-age': '600',
    vary: 'origin',
  })
  expect(() => preflight(asked({ origin: 'http://app.test' }), [])).toThrow('origin')
})
