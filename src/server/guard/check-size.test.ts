import { expect, test } from 'vitest'
import { defaultLimits } from '../server-options.ts'
import { checkSize } from './read-body.ts'

const url = 'http://app.test/a?b=1'

test('a URL may be as long as the limit, and no longer', () => {
  const request = new Request(url)
  checkSize(request, { ...defaultLimits, urlBytes: url.length })
  expect(() => checkSize(request, { ...defaultLimits, urlBytes: url.length - 1 })).toThrow(
    expect.objectContaining({ code: 'request_too_large', message: expect.stringContaining('URL') }),
  )
})

test('all headers together may be as long as the limit, with the two signs and the two of the end of line of each', () => {
  const request = new Request(url, { headers: { first: '12345', second: '' } })
  const bytes = 'first: 12345\r\nsecond: \r\n'.length
  checkSize(request, { ...defaultLimits, headerBytes: bytes })
  expect(() => checkSize(request, { ...defaultLimits, headerBytes: bytes - 1 })).toThrow(
    expect.objectContaining({ code: 'request_too_large', message: expect.stringContaining('header') }),
  )
})
