import { expect, test } from 'vitest'
import { checkHost, hostOf } from './read-body.ts'

function isAnswered(host: string, allowed: readonly string[]): boolean {
  try {
    checkHost(new Request('http://elsewhere.test/', { headers: { host } }), allowed)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'host_not_allowed' })
    return false
  }
}

test('a host without a port stands for all of its ports, one with a port for that alone', () => {
  expect(isAnswered('app.test', ['app.test'])).toBe(true)
  expect(isAnswered('app.test:8080', ['app.test'])).toBe(true)
  expect(isAnswered('app.test:8080', ['app.test:8080'])).toBe(true)
  expect(isAnswered('app.test:8081', ['app.test:8080'])).toBe(false)
  expect(isAnswered('app.test', ['app.test:8080'])).toBe(false)
})

test('an address of version 6 is known with and without a port', () => {
  expect(isAnswered('[::1]', ['[::1]'])).toBe(true)
  expect(isAnswered('[::1]:80', ['[::1]'])).toBe(true)
  expect(isAnswered('[::1]:80', ['[::1]:81'])).toBe(false)
  expect(isAnswered('[::2]:80', ['[::1]'])).toBe(false)
  expect(isAnswered('[::1]', ['[::1]:80'])).toBe(false)
})

test('case does not matter, nor blanks around what is allowed; any of several is enough', () => {
  expect(isAnswered('APP.test', ['other.test', ' App.Test '])).toBe(true)
  expect(isAnswered('app.test', [])).toBe(false)
})

test('a name that only begins or ends like one that is allowed is refused', () => {
  expect(isAnswered('app.test.evil.test', ['app.test'])).toBe(false)
  expect(isAnswered('evilapp.test', ['app.test'])).toBe(false)
  expect(isAnswered('app.test:80:80', ['app.test'])).toBe(false)
})

test('a request without the header has the host of its URL', () => {
  expect(hostOf(new Request('http://app.test:8080/a'))).toBe('app.test:8080')
  expect(hostOf(new Request('http://app.test/a', { headers: { host: 'b.test' } }))).toBe('b.test')
})
