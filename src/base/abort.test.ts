import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { pause, UnlessAborted } from './abort.ts'

test('a wait ends with its value, its error, or the signal, whichever is first', async () => {
  const controller = new AbortController()
  const waits = new UnlessAborted(controller.signal)
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
  const waits = new UnlessAborted(controller.signal)
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
  const whole = pause(100, clock, new AbortController().signal)
  await clock.advance(100)
  expect(await whole).toBe(true)
  const controller = new AbortController()
  const cut = pause(100, clock, controller.signal)
  await clock.advance(99)
  controller.abort()
  expect(await cut).toBe(false)
  expect(await pause(100, clock, AbortSignal.abort())).toBe(false)
})
