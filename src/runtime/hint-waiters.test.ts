import { expect, test } from 'vitest'
import { systemClock } from '../clock/clock.ts'
import { HintWaiters } from './hint-waiters.ts'

const ref = { tenant: 't', id: 'c' }
const never = new AbortController().signal

test('who waits goes on with a hint, and not with one for another log', async () => {
  const waiters = new HintWaiters(systemClock, 1_000_000, never)
  const hints = waiters.listen(ref)
  let isTold = false
  const waiting = hints.next().then(() => {
    isTold = true
  })
  waiters.hint({ ...ref, id: 'other' })
  await Promise.resolve()
  expect(isTold).toBe(false)
  waiters.hint(ref)
  await waiting
  hints.stop()
})

test('who waits is let go with the reason of its signal, before and while it waits', async () => {
  const waiters = new HintWaiters(systemClock, 1_000_000, never)
  const stop = new AbortController()
  const hints = waiters.listen(ref, stop.signal)
  const reason = new Error('enough')
  const waiting = hints.next()
  stop.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  await expect(hints.next()).rejects.toBe(reason)
  hints.stop()
})
