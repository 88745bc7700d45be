import { expect, test } from 'vitest'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { ConversationUnreadableError, StoreError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { silentLogger } from '../../base/logger.ts'
import { isHopeless, SkippedConversations } from './skipped-conversations.ts'

const chat = { tenant: 'acme', id: 'chat' }

function skipping() {
  const lines: string[] = []
  const logger: Logger = { ...silentLogger, error: (message, { id } = {}) => lines.push(`${message} ${String(id)}`) }
  let now = 0
  return { left: new SkippedConversations(logger, () => now), lines, pass: (ms: number) => void (now += ms) }
}

test('a conversation is left alone until its log grows, and then is one like any other', () => {
  const { left } = skipping()
  expect(left.has(chat, 5)).toBe(false)
  left.add(chat, 5)
  expect([left.has(chat, 4), left.has(chat, 5), left.toSkip().length]).toEqual([true, true, 1])
  expect(left.has({ ...chat, tenant: 'other' }, 5)).toBe(false)
  expect([left.has(chat, 6), left.toSkip()]).toEqual([false, []])
  expect(left.has(chat, 5)).toBe(false)
})

test('a claim is told what to leave alone, until what seq, and of no more than 10,000', () => {
  const { left, pass } = skipping()
  const ref = (id: string) => ({ tenant: 'acme', id })
  left.add(ref('grows'), 7)
  left.add(ref('passes'), 7, 100)
  left.add(ref('being closed'), Number.POSITIVE_INFINITY)
  left.add(ref('failed'), 3)
  left.retryLater(ref('failed'), new Error('down'))
  const told = () => Object.fromEntries(left.toSkip().map(({ id, seq }) => [id, seq]))
  expect(told()).toEqual({ grows: 7, passes: 7, 'being closed': null, failed: null })
  pass(100)
  expect(told()).toEqual({ grows: 7, 'being closed': null, failed: null })
  pass(900)
  expect(told()).toEqual({ grows: 7, 'being closed': null, failed: 3 })
  for (let n = 0; n < 10_000; n++) left.add(ref(`c${n}`), 1)
  expect(left.toSkip()).toHaveLength(10_000)
})

test('a damaged row is left alone for a while, and told of once', () => {
  const { left, lines, pass } = skipping()
  const damaged = new ConversationUnreadableError('chat', ['title'])
  left.addUnreadable(chat, 3, damaged)
  expect([left.has(chat, 3), left.toSkip()]).toEqual([true, [{ ...chat, seq: 3 }]])
  pass(5_000)
  expect(left.toSkip()).toEqual([])
  left.addUnreadable(chat, 3, damaged)
  expect(lines).toEqual(['a conversation cannot be worked on here chat'])
})

test('one that is left for a time is looked at again when it is over', () => {
  const { left, pass } = skipping()
  left.add(chat, 7, 1_000)
  left.setProblem(chat, new PerdureError('tool_missing', 'not here'))
  expect([left.has(chat, 7), left.problemOf(chat, 7)?.code]).toEqual([true, 'tool_missing'])
  expect(left.problemOf(chat, 8)).toBe(null)
  pass(999)
  expect(left.has(chat, 7)).toBe(true)
  pass(1)
  expect(left.has(chat, 7)).toBe(false)
})

test('what stopped the work on one is known until it is tried again', () => {
  const { left } = skipping()
  const problem = new PerdureError('flow_diverged', 'it differs')
  expect(left.problemOf(chat)).toBe(null)
  left.setProblem(chat, problem)
  expect([left.problemOf(chat), left.problemOf({ ...chat, id: 'other' })]).toEqual([problem, null])
  left.setProblem(chat, null)
  expect(left.problemOf(chat)).toBe(null)
})

test('waiting helps against failing stores, and not against logs that cannot be folded or replayed', () => {
  for (const code of ['event_unknown', 'event_invalid', 'flow_diverged', 'agent_missing'] as const)
    expect(isHopeless(new PerdureError(code, ''))).toBe(true)
  expect(isHopeless(new StoreError('read', new Error('down')))).toBe(false)
  expect(isHopeless(new Error('event_unknown'))).toBe(false)
})

test('a conversation whose work failed is set aside for longer and longer, until it goes well', () => {
  const { left, pass } = skipping()
  const failure = new StoreError('the file is damaged', { retryable: false })
  for (const waitMs of [1_000, 2_000, 4_000]) {
    left.retryLater(chat, failure)
    expect([left.has(chat, 1), left.problemOf(chat), left.toSkip().length]).toEqual([true, failure, 1])
    pass(waitMs - 1)
    expect(left.has(chat, 1)).toBe(true)
    pass(1)
    expect(left.has(chat, 1)).toBe(false)
  }
  for (let n = 0; n < 20; n++) left.retryLater(chat, failure)
  pass(60_000)
  expect(left.has(chat, 1)).toBe(false)
  left.unskip(chat)
  left.retryLater(chat, new Error('not one of ours'))
  expect(left.problemOf(chat)).toMatchObject({ code: 'store_failed' })
  pass(1_000)
  expect(left.has(chat, 1)).toBe(false)
})

test('what may pass by itself is tried sooner', () => {
  const { left, pass } = skipping()
  left.retryLater(chat, new StoreError('away'))
  pass(50)
  expect(left.has(chat, 1)).toBe(false)
})
