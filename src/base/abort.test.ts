import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { AbortableWaits, linkSignal, onAbort, pause, withDeadline } from './abort.ts'

test('a wait ends with its value, its error, or the signal, whichever is first', async () => {
  const controller = new AbortController()
  const waits = new AbortableWaits(controller.signal)
  expect(await waits.wait(() => 1)).toEqual({ type: 'value', value: 1 })
  expect(await waits.wait(async () => 2)).toEqual({ type: 'value', value: 2 })
  const error = new Error('no')
  expect(await waits.wait(() => Promise.reject(error))).toEqual({ type: 'error', error })
  const throwing = () => {
    throw error
  }
  expect(await waits.wait(throwing)).toEqual({ type: 'error', error })
  const endless = waits.wait(() => new Promise(() => {}))
  controller.abort()
  expect(await endless).toEqual({ type: 'aborted' })
  expect(await waits.wait(() => new Promise(() => {}))).toEqual({ type: 'aborted' })
})

test('once it is stopped, the signal ends nothing', async () => {
  const controller = new AbortController()
  const waits = new AbortableWaits(controller.signal)
  const work = Promise.withResolvers<string>()
  const waiting = waits.wait(() => work.promise)
  waits.stop()
  controller.abort()
  await Promise.resolve()
  work.resolve('done')
  expect(await waiting).toEqual({ type: 'value', value: 'done' })
})

test('a pause is over after its time, or false with the signal, also with one that came before', async () => {
  const clock = fakeClock()
  const whole = pause(100, { clock, signal: new AbortController().signal })
  await clock.advance(100)
  expect(await whole).toBe(true)
  const controller = new AbortController()
  const cut = pause(100, { clock, signal: controller.signal })
  await clock.advance(99)
  controller.abort()
  expect(await cut).toBe(false)
  expect(await pause(100, { clock, signal: AbortSignal.abort() })).toBe(false)
})

test('a pause without a clock takes real time, and its signal cuts it short', async () => {
  const startedAt = performance.now()
  expect(await pause(20)).toBe(true)
  expect(performance.now() - startedAt).toBeGreaterThan(15)
  expect(await pause(60_000, { signal: AbortSignal.timeout(5) })).toBe(false)
})

test('a process stays alive for a pause, with a clock and without, unless the pause is unreferenced', async () => {
  const program = `
    import { pause } from '${new URL('abort.ts', import.meta.url)}'
    import { systemClock } from '${new URL('clock.ts', import.meta.url)}'
    void pause(20, { unref: true }).then(() => console.log('neither'))
    void pause(20, { clock: systemClock, unref: true }).then(() => console.log('nor'))
    if (process.argv[1] === 'stay') {
      await pause(40)
      await pause(40, { clock: systemClock })
      console.log('stayed')
    }
  `
  const run = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, ...args])).stdout
  expect(await run()).toBe('')
  expect(await run('stay')).toBe('neither\nnor\nstayed\n')
})

test('a pause leaves no listener on its signal', async () => {
  const { signal } = new AbortController()
  await pause(1, { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a callback runs once with its signal, at once where that was aborted before, and never after it stopped listening', () => {
  const called: string[] = []
  const controller = new AbortController()
  onAbort(controller.signal, () => called.push('listening'))
  const stop = onAbort(controller.signal, () => called.push('stopped'))
  stop()
  expect(called).toEqual([])
  controller.abort()
  onAbort(controller.signal, () => called.push('late'))
  onAbort(undefined, () => called.push('never'))()
  expect(called).toEqual(['listening', 'late'])
})

test('a linked signal is aborted with its parent or on its own, and not once it is unlinked', () => {
  const parent = new AbortController()
  const [followed, alone, unlinked] = [linkSignal(parent.signal), linkSignal(parent.signal), linkSignal(parent.signal)]
  alone.abort('own')
  unlinked.unlink()
  parent.abort('parent')
  expect([followed.signal.reason, alone.signal.reason, unlinked.signal.aborted]).toEqual(['parent', 'own', false])
  expect(linkSignal(parent.signal).signal.reason).toBe('parent')
})

test('a wait with a deadline gives its value, null when time is up or the caller is gone, and its own errors', async () => {
  const endless = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => void onAbort(signal, () => reject(signal.reason)))
  expect(await withDeadline(async () => 7, 60_000)).toBe(7)
  expect(await withDeadline(endless, 5)).toBe(null)
  expect(await withDeadline(endless, 60_000, AbortSignal.timeout(5))).toBe(null)
  await expect(withDeadline(() => Promise.reject(new Error('no')), 60_000)).rejects.toThrow('no')
})
