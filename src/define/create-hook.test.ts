import { expect, test } from 'vitest'
import { createHook, halt, postHook, preHook, regenerate } from './create-hook.ts'

const run = (): undefined => undefined

test('a pre-hook is sequential and not durable unless told', () => {
  expect(preHook('a', run)).toMatchObject({ name: 'a', phase: 'pre', mode: 'sequential', durable: false })
  expect(preHook('b', run, { mode: 'parallel', durable: true })).toMatchObject({ mode: 'parallel', durable: true })
})

test('a hook is the same however it is made', () => {
  expect(createHook({ name: 'a', phase: 'post', run })).toEqual(postHook('a', run))
})

test('a hook is frozen', () => {
  expect(Object.isFrozen(preHook('a', run))).toBe(true)
})

test.each([
  ['no name', { phase: 'pre', run }, /'name'/],
  ['an empty name', { name: '', phase: 'pre', run }, /'name'/],
  ['a name no log can hold', { name: 'a\n', phase: 'pre', run }, /'name'/],
  ['no phase', { name: 'a', run }, /'phase' must be 'pre' or 'post'/],
  ['an unknown phase', { name: 'a', phase: 'during', run }, /not during/],
  ['an unknown mode', { name: 'a', phase: 'pre', mode: 'random', run }, /'mode'/],
  ['no function', { name: 'a', phase: 'pre' }, /'run' must be a function/],
  ['a function of two', { name: 'a', phase: 'pre', run: (_a: unknown, _b: unknown) => {} }, /not 2 arguments/],
  ['a durable that is no boolean', { name: 'a', phase: 'pre', run, durable: 'yes' }, /'durable'/],
  ['a parallel post-hook', { name: 'a', phase: 'post', mode: 'parallel', run }, /post-hook cannot be parallel/],
  ['a durable post-hook', { name: 'a', phase: 'post', durable: true, run }, /post-hook cannot be durable/],
  ['once without durable', { name: 'a', phase: 'pre', run, once: 'turn' }, /'once' needs durable: true/],
  ['an unknown once', { name: 'a', phase: 'pre', run, durable: true, once: 'step' }, /'once' must be 'turn', not step/],
  [
    'no time at all',
    { name: 'a', phase: 'pre', run, timeoutMs: 0 },
    /'timeoutMs' must be a whole number of at least 1/,
  ],
  ['a time that is no number', { name: 'a', phase: 'post', run, timeoutMs: '5' }, /'timeoutMs' must be a whole/],
  ['an unknown key', { name: 'a', phase: 'pre', run, timeout: 5 }, /unknown key 'timeout'/],
  ['not an object', null, /must be an object/],
])('a hook with %s is refused', (_, attributes, message) => {
  expect(() => createHook(attributes as never)).toThrow(message)
})

test('all problems of a hook are reported at once', () => {
  expect(() => createHook({ mode: 'random' } as never)).toThrow(/'name'.*'phase'.*'mode'.*'run'/)
})

test('the short forms check their options too', () => {
  expect(() => postHook('a', run, { mode: 'parallel' } as never)).toThrow(/post-hook cannot be parallel/)
  expect(() => preHook('a', run, { phase: 'post' } as never)).toThrow(/unknown key 'phase'/)
})

test('a verdict without words is refused', () => {
  expect(() => halt(undefined as never)).toThrow(/'reason' must be a string/)
  expect(() => regenerate(7 as never)).toThrow(/'feedback' must be a string/)
})

test('a halt is refused with options that it does not have', () => {
  expect(() => halt('no', { shown: true } as never)).toThrow(/unknown key 'shown' \(known: show, result\)/)
  expect(() => halt('no', { show: 'yes' } as never)).toThrow(/'show' must be true or false/)
  expect(() => halt('no', null as never)).toThrow(/'options' it must be an object/)
})

test('everything that is wrong with a hook is told, in the order of what it has', () => {
  const wrong = { nonsense: 1, name: '', phase: 'x', mode: 'x', durable: 'x', run: 7 }
  expect(() => createHook(wrong as never)).toThrow(
    /unknown key 'nonsense'.*'name' must be.*'phase' must be 'pre' or 'post', not x.*'mode' must be 'sequential' or 'parallel', not x.*'durable' must be true or false, not x.*'run' must be a function of the turn, not number/,
  )
  const post = {
    name: 'a',
    phase: 'post',
    mode: 'parallel',
    durable: true,
    run: (_: unknown, __: unknown) => undefined,
  }
  expect(() => createHook(post as never)).toThrow(
    /'run' takes the turn and nothing else, not 2 arguments.*cannot be parallel.*cannot be durable/,
  )
})
