import { expect, test } from 'vitest'
import { unlessAborted } from './abort.ts'

const never = new Promise<never>(() => {})

test('gives what the work gives, and its error', async () => {
  const { signal } = new AbortController()
  expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
})

test('gives up with the reason of the signal, at once or when it comes', async () => {
  await expect(unlessAborted(never, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  const controller = new AbortController()
  const work = unlessAborted(never, controller.signal)
  controller.abort(new Error('after'))
  await expect(work).rejects.toThrow('after')
})

test('listens to the signal for as long as the work lasts', async () => {
  let listeners = 0
  const { signal } = new AbortController()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  const work = unlessAborted(Promise.resolve(1), signal)
  expect(listeners).toBe(1)
  await work
  await unlessAborted(Promise.reject(new Error('no')), signal).catch(() => {})
  expect(listeners).toBe(0)
})
