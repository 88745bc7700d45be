import { expect, test } from 'vitest'
import { StudioSignIn } from './studio-sign-in.ts'

const start = 1_000_000

function opened(hasOperators = true) {
  const clock = { now: start }
  return { clock, signIn: new StudioSignIn({ hasOperators, now: () => clock.now }) }
}

test('a code is exchanged for the secrets of a user and of an operator', () => {
  const { signIn } = opened()
  const { token, operatorToken } = signIn.exchange(signIn.issue())
  expect([signIn.isOfUser(token), signIn.isOfOperator(token)]).toEqual([true, false])
  expect([signIn.isOfUser(operatorToken!), signIn.isOfOperator(operatorToken!)]).toEqual([false, true])
  expect(signIn.isOfUser(null) || signIn.isOfUser('') || signIn.isOfOperator(null)).toBe(false)
})

test('where there are no operators, a code is not for one', () => {
  const { signIn } = opened(false)
  expect(Object.keys(signIn.exchange(signIn.issue()))).toEqual(['token'])
})

test('a second use is refused, and says so', () => {
  const { signIn } = opened()
  const code = signIn.issue()
  const { token } = signIn.exchange(code)
  expect(() => signIn.exchange(code)).toThrow('This sign-in code was used before, and a code works once.')
  expect(signIn.isOfUser(token)).toBe(true)
})

test('a code works for ten minutes', () => {
  const { signIn, clock } = opened()
  const [first, second] = [signIn.issue(), signIn.issue()]
  clock.now = start + 600_000 - 1
  expect(signIn.exchange(first)).toMatchObject({ token: expect.any(String) })
  clock.now = start + 600_000
  expect(() => signIn.exchange(second)).toThrow('This sign-in code is older than ten minutes.')
})

test.each(['', 'x', 'undefined'])('a code that was never given (%j) is refused', (code) => {
  const { signIn } = opened()
  signIn.issue()
  expect(() => signIn.exchange(code)).toThrow('The server does not know this sign-in code.')
})

test('after ten refusals in a minute no code is looked at until the minute is over', () => {
  const { signIn, clock } = opened()
  const code = signIn.issue()
  for (let n = 0; n < 10; n++) {
    clock.now = start + n
    expect(() => signIn.exchange('guess')).toThrow(expect.objectContaining({ code: 'sign_in_refused' }))
  }
  const limited = expect.objectContaining({ code: 'rate_limited', retryAfterMs: 60_000 - 9 })
  expect(() => signIn.exchange(code)).toThrow(limited)
  clock.now = start + 60_000
  expect(signIn.exchange(code)).toMatchObject({ token: expect.any(String) })
})

test('an ended session is forgotten', () => {
  const { signIn } = opened()
  const { token, operatorToken } = signIn.exchange(signIn.issue())
  signIn.end([token, operatorToken!, null])
  expect(signIn.isOfUser(token) || signIn.isOfOperator(operatorToken!)).toBe(false)
})

test('neither codes nor sessions grow without bounds: the oldest go', () => {
  const { signIn } = opened()
  const oldest = signIn.issue()
  for (let n = 0; n < 100; n++) signIn.issue()
  expect(() => signIn.exchange(oldest)).toThrow('does not know')
  const { token } = signIn.exchange(signIn.issue())
  for (let n = 0; n < 1_000; n++) signIn.exchange(signIn.issue())
  expect(signIn.isOfUser(token)).toBe(false)
})
