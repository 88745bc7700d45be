import { expect, test } from 'vitest'
import { Secrets } from './secrets.ts'

test('a secret that is a part of another leaves nothing of that one', () => {
  const secrets = new Secrets()
  secrets.add(['password1'])
  secrets.add(['Bearer password1-and-more'])
  expect(secrets.hide('password1-and-more, password1, Bearer')).toBe('[redacted], [redacted], Bearer')
})

test('tokens that change with each request push out older tokens, not those that are still in use', () => {
  const secrets = new Secrets()
  for (let n = 0; n < 500; n++) {
    secrets.add(['kept-token', `rotating-${n}`])
    expect(secrets.hide(`kept-token rotating-${n}`)).toBe('[redacted] [redacted]')
  }
  expect(secrets.hide('rotating-7')).toBe('rotating-7')
})

test('the parameters of an address and the long parts of its path are secrets, as they are written and as they are meant', () => {
  const secrets = new Secrets()
  secrets.addFrom(new URL('https://mcp.example/servers/0123456789abcdef/mcp?key=a%2Fb%20token&mode=x'))
  expect(secrets.hide('at /servers/0123456789abcdef/mcp with a/b token and a%2Fb%20token')).toBe(
    'at /servers/[redacted]/mcp with [redacted] and [redacted]',
  )
})

test('texts and keys are hidden at every level, and what no log takes is cut off', () => {
  const secrets = new Secrets()
  const deep = JSON.parse(`${'['.repeat(30_000)}"secret-1234"${']'.repeat(30_000)}`)
  expect(secrets.hideIn(deep)).toBe(deep)
  secrets.add(['secret-1234'])
  expect(secrets.hideIn({ 'a secret-1234': [{ b: 'secret-1234' }, 7, null] })).toEqual({
    'a [redacted]': [{ b: '[redacted]' }, 7, null],
  })
  expect(JSON.stringify(secrets.hideIn(deep))).toMatch(/^\[{501}null\]{501}$/)
})
