import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RemoteError, ServerUnreachableError } from '../base/errors/server-errors.ts'
import type { Link, Listener } from './link.ts'
import { type LiveStatus, LiveStore } from './live-store.ts'
import { Rereading } from './rereading.ts'
import { Tab } from './tab.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const down = new ServerUnreachableError('http://localhost')

test('what missed nothing while the connection was lost is live again with it, without a request', () => {
  const { read, link, status, rereading } = world()
  rereading.follow(link, () => {})
  link.told!.onConnect()
  expect(status()).toBe('loading')
  read()
  link.told!.onDisconnect(down)
  expect(status()).toBe('reconnecting')
  link.told!.onConnect()
  expect([status(), read.mock.calls.length]).toEqual(['live', 1])
})

test('what could not be read is read again after a while, as long as there is a connection', () => {
  const { read, link, status, rereading, fail } = world()
  rereading.follow(link, () => {})
  link.told!.onConnect()
  fail(down)
  read()
  expect(status()).toBe('loading')
  vi.advanceTimersByTime(3_000)
  expect(read).toHaveBeenCalledTimes(2)
  fail(null)
  vi.advanceTimersByTime(3_000)
  expect([status(), read.mock.calls.length]).toEqual(['live', 3])
  vi.advanceTimersByTime(60_000)
  expect(read).toHaveBeenCalledTimes(3)
})

test('what could not be read while the connection was lost is read with the next one, and not before', () => {
  const { read, link, status, rereading, fail } = world()
  rereading.follow(link, () => {})
  read()
  fail(down)
  link.told!.onDisconnect(down)
  read()
  vi.advanceTimersByTime(60_000)
  expect([status(), read.mock.calls.length]).toEqual(['reconnecting', 2])
  fail(null)
  link.told!.onConnect()
  expect([status(), read.mock.calls.length]).toEqual(['live', 3])
})

test('what the server refuses, and what is gone, is not asked for again and again', () => {
  for (const [code, expected] of [
    ['unauthenticated', 'refused'],
    ['no_session', 'gone'],
  ] as const) {
    const { read, link, status, rereading, fail } = world()
    rereading.follow(link, () => {})
    fail(new RemoteError({ code, detail: code, status: 404, retryable: false } as never))
    read()
    vi.advanceTimersByTime(60_000)
    expect([status(), read.mock.calls.length]).toEqual([expected, 1])
  }
})

test('what is gone stays gone while the connection is lost', () => {
  const { read, link, status, rereading, fail } = world()
  rereading.follow(link, () => {})
  fail(new RemoteError({ code: 'no_session', detail: '', status: 404, retryable: false } as never))
  read()
  link.told!.onDisconnect(down)
  expect(status()).toBe('gone')
})

test('nothing is read any more once no one follows', () => {
  const { read, link, rereading, fail } = world()
  const stop = rereading.follow(link, () => {})
  fail(down)
  read()
  stop()
  vi.advanceTimersByTime(60_000)
  expect(read).toHaveBeenCalledTimes(1)
})

/** A store whose reads succeed, or fail as the test says. */
function world() {
  let failure: unknown = null
  const live = new LiveStore<{ status: LiveStatus; error: unknown }>(
    new Tab({}),
    { status: 'loading', error: null },
    () => () => {},
  )
  const read = vi.fn(() => {
    if (failure) return rereading.failed(failure)
    rereading.succeeded()
    live.set({ status: 'live', error: null })
  })
  const rereading: Rereading<{ status: LiveStatus; error: unknown }> = new Rereading(live, read)
  const link = {
    told: null as Listener | null,
    listen(listener: Listener) {
      link.told = listener
      return () => {}
    },
  }
  const fail = (error: unknown): void => {
    failure = error
  }
  return {
    read,
    rereading,
    fail,
    link: link as unknown as Link & { told: Listener | null },
    status: () => live.value.status,
  }
}
