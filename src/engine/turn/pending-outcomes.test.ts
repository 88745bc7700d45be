import { expect, test } from 'vitest'
import { answer } from '../../../test/log/story.ts'
import type { Outcome } from '../../log/settle.ts'
import { PendingOutcomes } from './pending-outcomes.ts'

const plain = new PendingOutcomes((text) => text)
const result = (callId: string): Outcome => ({ type: 'result', callId, attempt: 1, result: { ok: true, result: 1 } })

test('outcomes are in hand in their order, until they are settled, and who waits for one is told', () => {
  const told: string[] = []
  plain.add(result('c1'), (isCommitted) => told.push(`c1 ${isCommitted}`))
  plain.add(result('c2'), (isCommitted) => told.push(`c2 ${isCommitted}`))
  plain.add(answer('m1', 1))
  const [first, second, third] = plain.outcomes()
  expect([first, second, third]).toEqual([result('c1'), result('c2'), answer('m1', 1)])
  expect([plain.hasResult('c1'), plain.hasResult('c3'), plain.isEmpty]).toEqual([true, false, false])
  plain.settle([first!])
  expect([plain.outcomes(), told]).toEqual([[second, third], ['c1 true']])
  plain.drop()
  expect([plain.isEmpty, told]).toEqual([true, ['c1 true', 'c2 false']])
})

test('what is in hand has passed the redactor', () => {
  const hand = new PendingOutcomes((text) => text.replaceAll('secret', '[redacted]'))
  hand.add({ type: 'result', callId: 'c1', attempt: 1, result: { ok: false, error: 'a secret' } })
  expect(hand.outcomes()).toMatchObject([{ result: { error: 'a [redacted]' } }])
})

test('there is only ever one cancel, the last', () => {
  const hand = new PendingOutcomes((text) => text)
  hand.add(result('c1'))
  hand.replaceCancel({ type: 'cancel', turnId: 't1' })
  hand.replaceCancel({ type: 'cancel', turnId: 't2' })
  expect(hand.outcomes()).toEqual([result('c1'), { type: 'cancel', turnId: 't2' }])
})
