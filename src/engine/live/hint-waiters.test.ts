import { expect, test } from 'vitest'
import { HintWaiters } from './log-poll.ts'

const ref = { tenant: 't', id: 'c' }
const known = { seq: 1, at: 1, status: null }
const never = new AbortController().signal

test('who waits goes on with a hint, and not with one for another log', async () => {
  const waiters = new HintWaiters(never)
  const hints = waiters.listen(ref)
  let isTold = false
  const waiting = hints.next(known).then(() => {
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
  const waiters = new HintWaiters(never)
  const stop = new AbortController()
  const hints = waiters.listen(ref, stop.signal)
  const reason = new Error('enough')
  const waiting = hints.next(known)
  stop.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  await expect(hints.next(known)).rejects.toBe(reason)
  hints.stop()
})

test('who waits is polled for while it waits, and told where the log has moved', async () => {
  const waiters = new HintWaiters(never)
  const hints = waiters.listen(ref)
  expect([...waiters.watchers()]).toEqual([])
  const waiting = hints.next(known)
  const [watcher] = waiters.watchers()
  expect(watcher).toMatchObject({ ...ref, ...known })
  watcher!.look()
  await waiting
  expect([...waiters.watchers()]).toEqual([])
  hints.stop()
})
