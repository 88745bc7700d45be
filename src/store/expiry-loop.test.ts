import { expect, test } from 'vitest'
import { StoreClosedError, StoreError } from '../base/errors/store-errors.ts'
import { type Logger, silentLogger } from '../base/logger.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import type { Driver, DueCall } from './driver.ts'
import { ExpiryLoop, type HintBus } from './expiry-loop.ts'

const due = (callId: string): DueCall => ({ tenant: 'acme', id: 'chat', callId, round: 2, kind: 'approval' })

type Answer = { readonly due: readonly DueCall[]; readonly nextInMs: number | null }

/** `answers` are what the store says when it is asked, the last one for ever. */
function loop(answers: readonly (Answer | Error)[], commit: () => unknown = () => ({ type: 'ok', seq: 7 })) {
  const asked: number[] = []
  const commits: unknown[] = []
  const hints: unknown[] = []
  const lines: string[] = []
  const clock = fakeClock(0)
  const driver = {
    dueCalls: async () => {
      const answer = answers[Math.min(asked.length, answers.length - 1)]!
      asked.push(clock.now())
      if (answer instanceof Error) throw answer
      return answer
    },
    commit: async (...args: unknown[]) => {
      commits.push(args)
      const outcome = commit()
      if (outcome instanceof Error) throw outcome
      return outcome
    },
  } as unknown as Driver
  const logger: Logger = { ...silentLogger, warn: (message) => lines.push(message) }
  const bus = { emit: (hint: unknown) => hints.push(hint) } as unknown as HintBus
  return { expiry: new ExpiryLoop({ driver, clock, logger, hints: bus }), clock, asked, commits, hints, lines }
}

const nothing: Answer = { due: [], nextInMs: null }

test('it looks at once, and then every second', async () => {
  const { expiry, clock, asked } = loop([nothing])
  await clock.advance(1_000)
  expect(asked).toEqual([])
  expiry.start()
  await clock.advance(2_000)
  expect(asked).toEqual([1_000, 2_000, 3_000])
})

test('a deadline that is known is met, one that is set meanwhile as well, and a later one changes nothing', async () => {
  const { expiry, clock, asked } = loop([{ due: [], nextInMs: 120 }, nothing])
  expiry.start()
  await clock.advance(120)
  expect(asked).toEqual([0, 120])
  expiry.within(80)
  expiry.within(300)
  expiry.within(200)
  await clock.advance(400)
  expect(asked).toEqual([0, 120, 200])
  await clock.advance(800)
  expect(asked).toEqual([0, 120, 200, 1_200])
})

test('a due call is ended as expired, by the system, and announced', async () => {
  const { expiry, clock, commits, hints } = loop([{ due: [due('c1')], nextInMs: null }, nothing])
  expiry.start()
  await clock.advance(0)
  expect(commits).toMatchObject([['acme', 'chat', { resolve: [{ callId: 'c1', round: 2, status: 'expired' }] }]])
  expect(JSON.stringify(commits)).toContain('tool call expired: no response')
  expect(hints).toEqual([{ tenant: 'acme', id: 'chat', seq: 7 }])
})

test('a call that another process has ended is not announced', async () => {
  const { expiry, clock, commits, hints } = loop([{ due: [due('c1')], nextInMs: null }, nothing], () => ({
    type: 'stale',
  }))
  expiry.start()
  await clock.advance(0)
  expect([commits.length, hints]).toEqual([1, []])
})

test('what another process should take is announced so, as the store chose', async () => {
  const { expiry, clock, hints } = loop([{ due: [due('c1')], nextInMs: null }, nothing], () => ({
    ...{ type: 'ok', seq: 7, taker: 'worker-2' },
  }))
  expiry.start()
  await clock.advance(0)
  expect(hints).toEqual([{ tenant: 'acme', id: 'chat', seq: 7, taker: 'worker-2' }])
})

test('where others end ten calls of one look, it leaves more to them for up to half a second, and with nine it does not', async () => {
  for (const [lost, isLeft] of [
    [10, true],
    [9, false],
  ] as const) {
    const many = Array.from({ length: 100 }, (_, index) => due(`c${index}`))
    let commits = 0
    const { expiry, clock, asked } = loop([{ due: many, nextInMs: 0 }, nothing], () => {
      commits += 1
      return { type: commits <= lost ? 'stale' : 'ok', seq: 7 }
    })
    expiry.start()
    await clock.advance(249)
    expect([lost, asked.length]).toEqual([lost, isLeft ? 1 : 2])
    await clock.advance(251)
    expect(asked).toHaveLength(2)
  }
})

test('after a full batch it looks again at once', async () => {
  const many = Array.from({ length: 100 }, (_, index) => due(`c${index}`))
  const { expiry, clock, asked, commits } = loop([
    { due: many, nextInMs: null },
    { due: many.slice(1), nextInMs: null },
    nothing,
  ])
  expiry.start()
  await clock.advance(499)
  expect([asked, commits.length]).toEqual([[0, 0], 199])
})

test('a failure is logged and tried again, unless the store was closed', async () => {
  const failing = loop([new StoreError('read', new Error('down')), nothing])
  failing.expiry.start()
  await failing.clock.advance(500)
  expect([failing.lines, failing.asked]).toEqual([['looking for expired calls failed; trying again'], [0, 500]])
  const refused = loop(
    [{ due: [due('c1')], nextInMs: null }, nothing],
    () => new StoreError('commit', new Error('down')),
  )
  refused.expiry.start()
  await refused.clock.advance(0)
  expect(refused.lines).toEqual(['expiring a call failed; trying again'])
  const closed = loop([{ due: [due('c1')], nextInMs: null }, nothing], () => new StoreClosedError())
  closed.expiry.start()
  await closed.clock.advance(0)
  expect(closed.lines).toEqual([])
})

test('once stopped it looks no more, also where a deadline is set, and is silent about what still fails', async () => {
  const { expiry, clock, asked } = loop([nothing])
  expiry.start()
  await clock.advance(0)
  expiry.stop()
  expiry.within(0)
  await clock.advance(5_000)
  expect(asked).toEqual([0])
  const failing = loop([new StoreError('read', new Error('down'))])
  failing.expiry.start()
  const advancing = failing.clock.advance(0)
  failing.expiry.stop()
  await advancing
  expect(failing.lines).toEqual([])
})

test('calls that cannot be ended, however many are due, are tried after longer and longer pauses', async () => {
  const answer = { due: Array.from({ length: 100 }, (_, n) => due(`k${n}`)), nextInMs: 0 }
  const { expiry, clock, asked } = loop([answer], () => new StoreError('the file is damaged', { retryable: false }))
  expiry.start()
  await clock.advance(20_000)
  expect(asked.length).toBeGreaterThan(4)
  expect(asked.length).toBeLessThan(16)
})
