import { expect, test, vi } from 'vitest'
import { KeepAlive } from './background-tasks.ts'

test('the process is kept while anybody holds it, and each lets go once', () => {
  vi.useFakeTimers()
  try {
    const keepAlive = new KeepAlive()
    expect(vi.getTimerCount()).toBe(0)
    const letGo = [keepAlive.hold(), keepAlive.hold()]
    expect(vi.getTimerCount()).toBe(1)
    letGo[0]!()
    letGo[0]!()
    expect(vi.getTimerCount()).toBe(1)
    letGo[1]!()
    expect(vi.getTimerCount()).toBe(0)
    keepAlive.hold()()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('once it has ended nothing keeps the process, held before or after', () => {
  vi.useFakeTimers()
  try {
    const keepAlive = new KeepAlive()
    keepAlive.end()
    const held = keepAlive.hold()
    expect(vi.getTimerCount()).toBe(0)
    held()
    const other = new KeepAlive()
    const letGo = other.hold()
    other.end()
    expect(vi.getTimerCount()).toBe(0)
    other.hold()
    expect(vi.getTimerCount()).toBe(0)
    letGo()
  } finally {
    vi.useRealTimers()
  }
})
