import { expect, test } from 'vitest'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { ConversationUnreadableError, StoreError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { silentLogger } from '../../base/logger.ts'
import type { WatchedLog } from '../../store/store.ts'
import { isHopeless, SkippedConversations } from './claims.ts'

const chat = { tenant: 'acme', id: 'chat' }

function leftAlone() {
  const lines: string[] = []
  const logger: Logger = { ...silentLogger, error: (message, { id } = {}) => lines.push(`${message} ${String(id)}`) }
  let now = 0
  return { left: new SkippedConversations(logger, () => now), lines, pass: (ms: number) => void (now += ms) }
}

test('a conversation is left alone until its log grows, and then is one like any other', () => {
  const { left } = leftAlone()
  expect(left.has(chat, 5)).toBe(false)
  left.add(chat, 5)
  expect([left.has(chat, 4), left.has(chat, 5), left.size]).toEqual([true, true, 1])
  expect(left.has({ ...chat, tenant: 'other' }, 5)).toBe(false)
  expect([left.has(chat, 6), left.size]).toEqual([false, 0])
  expect(left.has(chat, 5)).toBe(false)
})

test('of very many that are left alone, one question tells which logs have grown', async () => {
  const { left, pass } = leftAlone()
  const refs = Array.from({ length: 1_500 }, (_, index) => ({ tenant: 'acme', id: `c${index}` }))
  for (const ref of refs) left.add(ref, 7, ref.id === 'c3' ? 100 : 60_000)
  left.add({ tenant: 'acme', id: 'c4' }, Number.POSITIVE_INFINITY)
  left.retryLater({ tenant: 'acme', id: 'c5' }, new Error('down'))
  const fresh = { tenant: 'acme', id: 'fresh' }
  const asked: string[][] = []
  const store = {
    movedLogs: async (watched: readonly WatchedLog[]) => {
      expect(new Set(watched.map(({ seq, at, status }) => `${seq} ${at} ${status}`))).toEqual(new Set(['7 null null']))
      asked.push(watched.map(({ id }) => id))
      return [{ tenant: 'acme', id: 'c1' }]
    },
  }
  const found = async () => (await left.toLookAt([...refs, fresh], store)).map(({ id }) => id)
  expect(await found()).toEqual(['c1', 'fresh'])
  expect(asked).toHaveLength(1)
  expect(asked[0]).not.toContain('c4')
  expect(asked[0]).not.toContain('c5')
  pass(100)
  expect(await found()).toEqual(['c1', 'c3', 'fresh'])
  expect(await left.toLookAt([fresh], store)).toEqual([fresh])
  expect(asked).toHaveLength(2)
})

test('a damaged row is left alone and told of once; any other error is thrown', () => {
  const { left, lines } = leftAlone()
  const damaged = new ConversationUnreadableError('chat', ['title'])
  expect(left.addUnreadable(chat, damaged)).toBe(null)
  expect(left.addUnreadable(chat, damaged)).toBe(null)
  expect(lines).toEqual(['a conversation cannot be worked on here chat'])
  expect([left.has(chat, 0), left.has(chat, 1)]).toEqual([true, false])
  const failure = new StoreError('read', new Error('down'))
  expect(() => left.addUnreadable(chat, failure)).toThrow(failure)
  expect(() => left.addUnreadable(chat, new Error('no'))).toThrow('no')
})

test('one that is left for a time is looked at again when it is over', () => {
  const { left, pass } = leftAlone()
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
  const { left } = leftAlone()
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
  const { left, pass } = leftAlone()
  const failure = new StoreError('the file is damaged', { retryable: false })
  for (const waitMs of [1_000, 2_000, 4_000]) {
    left.retryLater(chat, failure)
    expect([left.waitsForRetry(chat), left.problemOf(chat), left.size]).toEqual([true, failure, 1])
    pass(waitMs - 1)
    expect(left.waitsForRetry(chat)).toBe(true)
    pass(1)
    expect(left.waitsForRetry(chat)).toBe(false)
  }
  for (let n = 0; n < 20; n++) left.retryLater(chat, failure)
  pass(60_000)
  expect(left.waitsForRetry(chat)).toBe(false)
  left.unskip(chat)
  left.retryLater(chat, new Error('not one of ours'))
  expect(left.problemOf(chat)).toMatchObject({ code: 'store_failed' })
  pass(1_000)
  expect(left.waitsForRetry(chat)).toBe(false)
})

test('what may pass by itself is tried sooner', () => {
  const { left, pass } = leftAlone()
  left.retryLater(chat, new StoreError('away'))
  pass(50)
  expect(left.waitsForRetry(chat)).toBe(false)
})
