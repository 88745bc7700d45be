import { expect, test } from 'vitest'
import { answer, draftCall } from '../../../test/log/story.ts'
import type { AssistantPart } from '../../log/events.ts'
import type { Outcome } from '../../log/settle.ts'
import { redactOutcome } from './pending-outcomes.ts'

const redact = (text: string, options?: { readonly opaqueWords?: boolean }) =>
  text.replaceAll('secret', options?.opaqueWords ? '[opaque]' : '[redacted]')
const redacted = (outcome: Outcome) => redactOutcome(outcome, redact)

test('an error of a tool is redacted, its result is not', () => {
  const base = { type: 'result', callId: 'c1', attempt: 1 } as const
  const failed = { ...base, result: { ok: false as const, error: 'secret', outcome: 'ran' as const } }
  expect(redacted(failed)).toEqual({ ...failed, result: { ok: false, error: '[redacted]', outcome: 'ran' } })
  const succeeded = { ...base, result: { ok: true as const, result: 'secret' } }
  expect(redacted(succeeded)).toEqual(succeeded)
})

test('the reason of a tool that ends the turn is redacted', () => {
  const halted = { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'secret' } } as const
  expect(redacted({ ...halted, halt: 'secret' })).toEqual({ ...halted, halt: '[redacted]' })
})

test('the reason of an end is redacted', () => {
  const end = { type: 'end', turnId: 't1', status: 'failed', reason: 'secret' } as const
  expect(redacted(end)).toEqual({ ...end, reason: '[redacted]' })
  expect(redacted({ ...end, reason: null })).toEqual({ ...end, reason: null })
})

const broken: AssistantPart = {
  type: 'provider_result',
  providerCallId: 'p1',
  name: 'search',
  result: { text: 'secret', list: ['secret', 1, null], more: { deep: 'secret', is: true } },
  isError: true,
} as AssistantPart
const whole = { ...broken, isError: false } as AssistantPart
const opaque = { text: '[opaque]', list: ['[opaque]', 1, null], more: { deep: '[opaque]', is: true } }

test('of a message, what a provider failed with and the calls that were refused are redacted, the rest is not', () => {
  const refused = draftCall('c1', { result: { ok: false, error: 'secret' } })
  const made = draftCall('c2', { args: 'secret' })
  const text: AssistantPart = { type: 'text', text: 'secret' }
  const message = answer('m1', 1, { parts: [text, broken, whole], calls: [refused, made] })
  expect(redacted(message)).toEqual({
    ...message,
    parts: [text, { ...broken, result: opaque }, whole],
    calls: [{ ...refused, result: { ok: false, error: '[redacted]' } }, made],
  })
  const onlyCall = answer('m1', 1, { parts: [text], calls: [refused] })
  expect(redacted(onlyCall)).toMatchObject({ calls: [{ result: { error: '[redacted]' } }] })
  const onlyPart = answer('m1', 1, { parts: [broken], calls: [made] })
  expect(redacted(onlyPart)).toMatchObject({ parts: [{ result: opaque }] })
  const plain = answer('m1', 1, { parts: [text, whole], calls: [made] })
  expect(redacted(plain)).toEqual(plain)
})

test('the failure of a message and what hooks say of it are redacted', () => {
  expect(redacted(answer('m1', 1, { status: 'failed', failure: 'secret' }))).toMatchObject({ failure: '[redacted]' })
  const judged = (verdict: NonNullable<ReturnType<typeof answer>['verdict']>) => redacted(answer('m1', 1, { verdict }))
  expect(judged({ type: 'regenerate', n: 1, feedback: 'secret' })).toMatchObject({
    verdict: { type: 'regenerate', n: 1, feedback: '[redacted]' },
  })
  expect(judged({ type: 'halt', reason: 'secret' })).toMatchObject({ verdict: { type: 'halt', reason: '[redacted]' } })
  expect(judged({ type: 'fail', reason: 'secret' })).toMatchObject({ verdict: { type: 'fail', reason: '[redacted]' } })
})

test('what a cancel cut off is redacted, too', () => {
  const { type: _, status: __, ...partial } = answer('m1', 1, { parts: [broken] })
  expect(redacted({ type: 'cancel', turnId: 't1', partial })).toMatchObject({
    partial: { parts: [{ result: opaque }] },
  })
  const bare = { type: 'cancel', turnId: 't1' } as const
  expect(redacted(bare)).toEqual(bare)
})

test('titles and injections are what they are', () => {
  const title = { type: 'title', title: 'secret' } as unknown as Outcome
  expect(redacted(title)).toEqual(title)
})
