import { expect, test } from 'vitest'
import { tagOf } from '../log/flow-questions.ts'
import { isRequest, requestKind, requestPayload } from './flow-requests.ts'

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
