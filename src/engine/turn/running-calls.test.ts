import { expect, test } from 'vitest'
import { called, continued, replied, said, started, stateOf, succeeded } from '../../../test/log/story.ts'
import { RunningCalls } from './running-calls.ts'

const done = { ok: true as const, result: 'done' }

function watched() {
  const reports: unknown[] = []
  const signals: AbortSignal[] = []
  const calls = new RunningCalls({
    result: (outcome) => reports.push(outcome),
    crashed: (error) => reports.push(error),
  })
  /** Starts a call; the returned function ends it well. */
  const start = (callId: string, attempt = 1) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ result: typeof done }>()
    calls.start(callId, attempt, (signal) => {
      signals.push(signal)
      return promise
    })
    return { finish: () => resolve({ result: done }), crash: reject }
  }
  return { calls, reports, signals, start }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const running = stateOf([
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
  called('c1'),
  called('c2'),
  started('c1'),
  started('c2'),
])

test('a call runs until it is forgotten, and what it returns is reported', async () => {
  const { calls, reports, start } = watched()
  start('c1', 3).finish()
  await settled()
  expect(reports).toEqual([{ type: 'result', callId: 'c1', attempt: 3, result: done }])
  expect(calls.ids()).toEqual(new Set(['c1']))
  calls.forget('c1')
  expect(calls.ids()).toEqual(new Set())
})

test('one that must not have ended so is reported as a crash', async () => {
  const { reports, start } = watched()
  const error = new Error('never')
  start('c1').crash(error)
  await settled()
  expect(reports).toEqual([error])
})

test('what an earlier attempt returns is not reported, nor what is forgotten', async () => {
  const { calls, reports, start } = watched()
  const first = start('c1', 1)
  start('c1', 2)
  const other = start('c2')
  calls.forget('c2')
  first.finish()
  other.finish()
  await settled()
  expect(reports).toEqual([])
})

test('aborted calls are told to stop, and what they still return is reported; cleared ones are not heard any more', async () => {
  const { calls, reports, signals, start } = watched()
  const first = start('c1')
  calls.abort()
  expect(signals[0]!.aborted).toBe(true)
  first.finish()
  await settled()
  expect(reports).toHaveLength(1)
  const second = start('c2')
  calls.clear()
  expect([signals[1]!.aborted, calls.ids().size]).toEqual([true, 0])
  second.finish()
  await settled()
  expect(reports).toHaveLength(1)
})

test('those that the log says have ended, or does not know, are stopped and forgotten; others run on', async () => {
  const { calls, signals, start } = watched()
  start('c1')
  start('c2')
  start('c9')
  calls.abortEnded(continued(running, [succeeded('c1')]))
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, true])
  expect(calls.ids()).toEqual(new Set(['c2']))
})

test('one that has returned is not told to stop when the log says that it has ended', async () => {
  const { calls, signals, start } = watched()
  start('c1').finish()
  await settled()
  calls.abortEnded(continued(running, [succeeded('c1')]))
  expect(signals[0]!.aborted).toBe(false)
  expect(calls.ids().size).toBe(0)
})
