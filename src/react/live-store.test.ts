import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LiveStore } from './live-store.ts'
import { Tab } from './tab.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a store runs once for all readers, and for a second after the last', () => {
  const { store, log } = world()
  const leave = [store.subscribe(() => {}), store.subscribe(() => {})]
  expect(log).toEqual(['run'])
  for (const stop of leave) stop()
  // StrictMode comes back at once, a change of pages a little later.
  vi.advanceTimersByTime(500)
  const again = store.subscribe(() => {})
  vi.advanceTimersByTime(5_000)
  expect(log).toEqual(['run'])
  again()
  vi.advanceTimersByTime(1_000)
  expect(log).toEqual(['run', 'stop'])
  expect(store.isUsed).toBe(false)
})

test('a store stops while its tab is hidden or left, and runs again when it is shown', () => {
  const { store, log, browser } = world()
  store.subscribe(() => {})
  browser.show('hidden')
  expect(log).toEqual(['run', 'stop'])
  browser.show('visible')
  expect(log).toEqual(['run', 'stop', 'run'])
  browser.fire('pagehide')
  browser.fire('pageshow')
  expect(log).toEqual(['run', 'stop', 'run', 'stop', 'run'])
})

test('a store that is first read in a hidden tab waits until it is shown, and leaves no listener behind', () => {
  const { store, log, browser } = world()
  browser.show('hidden')
  const leave = store.subscribe(() => {})
  expect(log).toEqual([])
  browser.show('visible')
  expect(log).toEqual(['run'])
  leave()
  vi.advanceTimersByTime(1_000)
  expect(browser.listeners()).toBe(0)
})

test('readers are told of another value, and not of the same', () => {
  const { store } = world()
  const told = vi.fn()
  store.subscribe(told)
  store.set(1)
  store.set(1)
  expect(told).toHaveBeenCalledTimes(1)
  expect(store.get()).toBe(1)
})

function world() {
  const browser = fakeBrowser()
  const log: string[] = []
  const store = new LiveStore(new Tab(browser.globals), 0, () => {
    log.push('run')
    return () => void log.push('stop')
  })
  return { store, log, browser }
}

function fakeBrowser() {
  const listeners: { readonly type: string; readonly listener: () => void }[] = []
  const events = {
    addEventListener: (type: string, listener: () => void) => void listeners.push({ type, listener }),
    removeEventListener: (type: string, listener: () => void) => {
      listeners.splice(
        listeners.findIndex((other) => other.type === type && other.listener === listener),
        1,
      )
    },
  }
  const document = { ...events, visibilityState: 'visible' }
  const fire = (type: string): void => {
    for (const entry of [...listeners]) if (entry.type === type) entry.listener()
  }
  const show = (state: string): void => {
    document.visibilityState = state
    fire('visibilitychange')
  }
  return { globals: { ...events, document }, fire, show, listeners: () => listeners.length }
}
