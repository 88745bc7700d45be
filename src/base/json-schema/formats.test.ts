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
