import { expect, test } from 'vitest'
import { checkPath } from './read-body.ts'

test('a path and a query of UTF-8 are taken', () => {
  checkPath(new Request('http://app.test/caf%C3%A9?title=%E2%82%AC'))
})

test('bytes that are not UTF-8 are refused, and where they stand is said', () => {
  expect(() => checkPath(new Request('http://app.test/caf%E9'))).toThrow('The path of the request')
  expect(() => checkPath(new Request('http://app.test/a?title=%ff'))).toThrow('The query of the request')
})
