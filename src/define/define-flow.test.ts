import { describe, expect, test } from 'vitest'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { tagOf } from '../log/flow-questions.ts'
import { defineFlow, isRequest, requestKind, requestPayload } from './define-flow.ts'

const run = async () => 1

test.each([
  ['nothing', undefined, ["'version' must", "'run' must"]],
  ['an unknown key', { name: 'f', version: 1, run, nmae: 'g' }, ["unknown key 'nmae'"]],
  ['a name that is none', { name: '', version: 1, run }, ["'name' must"]],
  ['a name that is too long', { name: 'x'.repeat(252), version: 1, run }, ["'name' must"]],
  ['no version', { name: 'f', run }, ["'version' must"]],
  ['an empty version', { name: 'f', version: '', run }, ["'version' must"]],
  ['no code', { name: 'f', version: 1 }, ["'run' must"]],
  ['an input that is no schema', { name: 'f', version: 1, run, input: 'string' }, ["'input' must"]],
  ['compatible versions that are none', { name: 'f', version: 1, run, compatible: 'all' }, ["'compatible' must"]],
  [
    'a range where versions are no numbers',
    { name: 'f', version: 'b', run, compatible: { from: 1 } },
    ["'compatible'"],
  ],
])('a flow with %s is refused, and everything wrong is named', (_, attributes, problems) => {
  const defining = () => defineFlow(attributes as never)
  expect(defining).toThrow(DefinitionError)
  for (const problem of problems) expect(defining).toThrow(problem)
})

describe('a flow replays records', () => {
  test.each([
    ['of its own version', 3, undefined, '3', true],
    ['of no other by itself', 3, undefined, '2', false],
    ['of those in its list', 3, [1, '2-beta'], '2-beta', true],
    ['of none but those in its list', 3, [1, '2-beta'], '2', false],
    ['of its range', 3, { from: 2 }, '2', true],
    ['of none before its range', 3, { from: 2 }, '1', false],
    ['of none after itself', 3, { from: 2 }, '4', false],
    ['of none that only looks like a number', 3, { from: 0 }, '', false],
  ] as const)('%s', (_, version, compatible, recorded, expected) => {
    const flow = defineFlow({ name: 'f', version, run, ...(compatible ? { compatible } : {}) })
    expect(flow.replays(recorded)).toBe(expected)
  })
})

test('everything that is wrong with a flow is told, in the order of what it has', () => {
  const wrong = { nonsense: 1, name: '', version: '', compatible: 7, input: 7, run: 7 }
  expect(() => defineFlow(wrong as never)).toThrow(
    /unknown key 'nonsense'.*'name' must be.*'version' must be.*'compatible' must be.*'input' must be.*'run' must be/,
  )
})

test('a flow replays its own version, those it lists, or all numbers from one on up to its own', () => {
  const replays = (version: string | number, compatible: unknown, recorded: string) =>
    defineFlow({ name: 'f', version, compatible: compatible as never, run: async () => null }).replays(recorded)
  expect([replays(3, [], '3'), replays(3, [], '2'), replays(3, [1, '2b'], '1'), replays(3, [1, '2b'], '2b')]).toEqual([
    true,
    false,
    true,
    true,
  ])
  expect(['1', '2', '3', '4', '02', '2.0', 'x'].map((recorded) => replays(3, { from: 2 }, recorded))).toEqual([
    false,
    true,
    true,
    false,
    false,
    false,
    false,
  ])
  for (const [version, compatible] of [
    ['a', { from: 1 }],
    [3, { from: 'x' }],
    [3, [null]],
    [3, {}],
  ] as const)
    expect(() => replays(version, compatible, '1')).toThrow("'compatible' must be")
})

const tag = { type: 'request', kind: 'pay', payload: { cents: 5 } }

test('a request is told from any other tag, and has a kind and a payload', () => {
  expect([isRequest(tag), requestKind(tag), requestPayload(tag)]).toEqual([true, 'pay', { cents: 5 }])
  const { kind: _, ...noKind } = tag
  const { payload: __, ...noPayload } = tag
  for (const other of [
    null,
    'request',
    7,
    {},
    { ...tag, type: 'other' },
    { kind: 'pay', payload: 1 },
    noKind,
    noPayload,
  ]) {
    expect([isRequest(other), requestKind(other), requestPayload(other)]).toEqual([false, null, null])
  }
})

test('what a session shows is its tag, or its request', () => {
  expect(tagOf({ kind: 'suspend', tag: 'wait' })).toBe('wait')
  expect(tagOf({ kind: 'request', request: 'pay', payload: { cents: 5 } })).toEqual(tag)
})
