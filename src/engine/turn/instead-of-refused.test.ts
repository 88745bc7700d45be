import { expect, test } from 'vitest'
import { answer, said, stateOf } from '../../../test/log/story.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { Outcome } from '../../log/settle.ts'
import { openTurn } from '../../log/state.ts'
import { failureReason } from './finish-message.ts'
import { RefusedCommits, replaceRefused } from './pending-outcomes.ts'

const error = new PerdureError('event_too_large', 'it has 9 bytes')
const open = openTurn(stateOf([said('t1')]))
const result: Outcome = { type: 'result', callId: 'c1', attempt: 2, result: { ok: true, result: 'much' } }

test('a result that cannot be recorded becomes an error that says that the tool ran, and the turn goes on', () => {
  const problem = 'it ran, but its result cannot be recorded: it has 9 bytes'
  expect(replaceRefused(error, [answer('m1', 1), result], open)).toEqual([
    { type: 'result', callId: 'c1', attempt: 2, result: { ok: false, error: problem, outcome: 'ran' } },
  ])
})

test('without a result, the open turn fails with the code', () => {
  const end = { type: 'end', turnId: 't1', status: 'failed', reason: 'event_too_large' }
  expect(replaceRefused(error, [answer('m1', 1)], open)).toEqual([end])
  expect(replaceRefused(error, [answer('m1', 1)], null)).toEqual([])
})

test('a reason begins with a code', () => {
  expect(failureReason(error)).toBe('event_too_large: it has 9 bytes')
  expect(failureReason(new Error('oh'))).toBe('internal_error: oh')
  expect(failureReason('oh')).toBe('internal_error: oh')
})

test('what a store that fails for good refuses is not replaced, and neither is a third refusal in a row', () => {
  const damaged = new StoreError('the file is damaged', { retryable: false })
  expect(() => new RefusedCommits().instead(damaged, [], null)).toThrow(damaged)
  const refusals = new RefusedCommits()
  const tooLarge = new PerdureError('invalid_argument', 'too large')
  for (let n = 0; n < 2; n++) expect(refusals.instead(tooLarge, [], null)).toEqual([])
  expect(() => refusals.instead(tooLarge, [], null)).toThrow(tooLarge)
  refusals.committed()
  expect(refusals.instead(tooLarge, [], null)).toEqual([])
})
