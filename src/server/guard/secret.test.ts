import { expect, test } from 'vitest'
import { bearerToken, isSameSecret, operatorOrBearerToken, operatorToken, requireSecret } from './secret.ts'

function asked(headers: Record<string, string>): Request {
  return new Request('http://app.test/', { headers })
}

test('a token is what follows Bearer, in whatever case, and nothing but visible signs', () => {
  expect(bearerToken(asked({ authorization: 'Bearer abc.~!' }))).toBe('abc.~!')
  expect(bearerToken(asked({ authorization: 'bearer   abc' }))).toBe('abc')
  for (const authorization of ['Basic abc', 'Bearer', 'Bearer a b', 'xBearer abc', 'Bearerabc', 'Bearer caf\u00e9'])
    expect(bearerToken(asked({ authorization }))).toBe(null)
  expect(bearerToken(asked({}))).toBe(null)
})

test("an operator's token stands in a header of its own, or where a user's does when there is no such header", () => {
  const user = { authorization: 'Bearer user' }
  expect(operatorToken(asked(user))).toBe(null)
  expect(operatorToken(asked({ ...user, 'perdure-operator': 'Bearer boss' }))).toBe('boss')
  expect(operatorOrBearerToken(asked(user))).toBe('user')
  expect(operatorOrBearerToken(asked({ ...user, 'perdure-operator': 'Bearer boss' }))).toBe('boss')
  expect(operatorOrBearerToken(asked({ ...user, 'perdure-operator': 'nonsense' }))).toBe(null)
})

test('secrets are the same when they are equal and not empty', () => {
  expect(isSameSecret('a', 'a')).toBe(true)
  expect(isSameSecret('a', 'b')).toBe(false)
  expect(isSameSecret('a', 'aa')).toBe(false)
  expect(isSameSecret('', '')).toBe(false)
})

test('a configured secret is given back as it is, and one that is missing, empty or blank is refused', () => {
  expect(requireSecret('TOKEN', ' a ')).toBe(' a ')
  for (const value of [undefined, null, '', ' \t'])
    expect(() => requireSecret('TOKEN', value)).toThrow(expect.objectContaining({ code: 'invalid_definition' }))
})
