import { Validator } from '@cfworker/json-schema'
import { expect, test } from 'vitest'
import { formats, formatted } from '../../../test/schemas/formatted.ts'
import { checkValue } from './compile-schema.ts'

test.each(formats)('%s is what the plain validator takes it for', (format) => {
  const plain = new Validator({ format }, '2020-12', false)
  const accepted = formatted.filter((text) => checkValue({ format }, text, 'code').fits)
  expect(accepted).toEqual(formatted.filter((text) => plain.validate(text).valid))
  if (format !== 'unheard-of') expect(accepted.length).toBeGreaterThan(0)
  if (format !== 'unheard-of') expect(accepted.length).toBeLessThan(formatted.length)
})

const host = (length: number) => `${`${'b'.repeat(62)}.`.repeat(3)}${'c'.repeat(length - 3 * 63)}`

test.each([
  ['email', `${'a'.repeat(64)}@${host(250)}`, true],
  ['email', `${'a'.repeat(65)}@example.com`, false],
  ['email', `a@${host(254)}`, false],
  ['hostname', host(252), true],
  ['hostname', `${host(251)}.c`, true],
  ['hostname', `${host(251)}.cc`, false],
  ['hostname', 'a'.repeat(63), true],
  ['hostname', 'a'.repeat(64), false],
  ['ipv4', '255.255.255.255', true],
  ['ipv4', '255.255.255.2550', false],
  ['ipv6', '1234:1234:1234:1234:1234:1234:255.255.255.255', true],
  ['ipv6', '1234:1234:1234:1234:1234:1234:1234:255.255.255.255', false],
])('%s may be as long as its standard says: %s, %s', (format, text, fits) => {
  expect(checkValue({ format }, text, 'code').fits).toBe(fits)
})
