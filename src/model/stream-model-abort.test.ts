import { describe, expect, test } from 'vitest'
import { endlessStream, hello, model, ok, overloaded, settled, start, throws } from '../../test/support/unruly-model.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import type { ModelRequest } from './call-model.ts'

describe('abort', () => {
  test('before the call sends no request', async () => {
    const asked = model([ok])
    const call = start({ models: [asked], signal: AbortSignal.abort() })
    expect(await call.message).toMatchObject({ status: 'aborted', parts: [], model: { modelId: 'm1' } })
    expect([asked.asked, call.attempts]).toEqual([[], []])
  })

  test('while a provider that takes no notice has not answered', async () => {
    const controller = new AbortController()
    const deaf = model([() => new Promise(() => {})])
    const call = start({ models: [deaf], signal: controller.signal })
    await settled()
    controller.abort()
    expect(await call.message).toMatchObject({ status: 'aborted', finishReason: 'aborted' })
    expect(call.attempts).toMatchObject([{ status: 'cancelled' }])
    expect(call.attempts[0]).not.toHaveProperty('error')
  })

  test('lets go of a stream that comes after it', async () => {
    const controller = new AbortController()
    const { stream, wasCancelled } = endlessStream([hello])
    let answer: (result: unknown) => void = () => {}
    const late = model([() => new Promise((resolve) => (answer = resolve))])
    const call = start({ models: [late], signal: controller.signal })
    await settled()
    controller.abort()
    await call.message
    answer({ stream })
    await settled()
    expect(wasCancelled()).toBe(true)
    expect(call.chunks).toEqual([])
  })

  test('a rejection that comes after it is ignored', async () => {
    const controller = new AbortController()
    let fail: (error: unknown) => void = () => {}
    const late = model([() => new Promise((_, reject) => (fail = reject))])
    const call = start({ models: [late], signal: controller.signal })
    await settled()
    controller.abort()
    await call.message
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    fail(new Error('late'))
    await settled()
    await settled()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  test('in the middle of a stream that hangs keeps what has come', async () => {
    const controller = new AbortController()
    const { stream, wasCancelled } = endlessStream([hello, { type: 'tool-input-start', id: 'x', toolName: 'refund' }])
    const call = start({ models: [model([() => Promise.resolve({ stream })])], signal: controller.signal })
    await settled()
    controller.abort()
    expect(await call.message).toMatchObject({ status: 'aborted', parts: [{ type: 'text', text: 'hello' }], calls: [] })
    await settled()
    expect(wasCancelled()).toBe(true)
    expect(call.attempts).toMatchObject([{ status: 'cancelled', timeToFirstTokenMs: 0 }])
  })

  test.each(['while the provider is asked', 'between two reads'])('%s ends the wait that comes next', async (when) => {
    const controller = new AbortController()
    const { stream, wasCancelled } = endlessStream([hello])
    const ask = (): Promise<unknown> => {
      if (when === 'while the provider is asked') controller.abort()
      return Promise.resolve({ stream })
    }
    const transformChunk: ModelRequest['transformChunk'] = (chunk) => {
      controller.abort()
      return chunk
    }
    const call = start({ models: [model([ask])], signal: controller.signal, transformChunk })
    const parts = when === 'between two reads' ? [{ type: 'text', text: 'hello' }] : []
    expect(await call.message).toMatchObject({ status: 'aborted', parts })
    await settled()
    expect(wasCancelled()).toBe(true)
  })

  test('of a stream whose cancel hangs or throws returns all the same', async () => {
    for (const cancel of [() => new Promise<void>(() => {}), throws(new Error('no'))]) {
      const controller = new AbortController()
      const stream = new ReadableStream({ start: (target) => target.enqueue(hello), cancel })
      const call = start({ models: [model([() => Promise.resolve({ stream })])], signal: controller.signal })
      await settled()
      controller.abort()
      expect((await call.message).status).toBe('aborted')
    }
  })

  test('that the provider turns into an error is not a failure', async () => {
    const controller = new AbortController()
    const obedient = model([
      () =>
        Promise.resolve({
          stream: new ReadableStream({
            start(target) {
              target.enqueue(hello)
              controller.signal.addEventListener('abort', () => target.error(controller.signal.reason))
            },
          }),
        }),
    ])
    const call = start({ models: [obedient], signal: controller.signal })
    await settled()
    controller.abort()
    expect(await call.message).toMatchObject({ status: 'aborted', parts: [{ text: 'hello' }] })
  })

  test('while it waits for the next attempt', async () => {
    const controller = new AbortController()
    const clock = fakeClock()
    let calledOff = 0
    const after: typeof clock.after = (delayMs, callback) => {
      const callOff = clock.after(delayMs, callback)
      return () => {
        // The other timer is the limit of the attempt.
        if (delayMs <= 8_000) calledOff++
        callOff()
      }
    }
    const busy = model([() => Promise.reject(overloaded()), ok])
    const call = start({ models: [busy], signal: controller.signal, clock: { ...clock, after } })
    await settled()
    controller.abort()
    expect((await call.message).status).toBe('aborted')
    expect(calledOff).toBe(1)
    await clock.advance(100_000)
    expect(busy.asked).toHaveLength(1)
  })

  test('reaches a stream that never pauses', async () => {
    const controller = new AbortController()
    const flood = new ReadableStream({ pull: (target) => target.enqueue({ type: 'ping' }) })
    const call = start({ models: [model([() => Promise.resolve({ stream: flood })])], signal: controller.signal })
    setImmediate(() => controller.abort())
    expect((await call.message).status).toBe('aborted')
  })

  test('leaves no listeners on the signal', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    const clock = fakeClock()
    const call = start({ models: [model([() => Promise.reject(overloaded()), ok])], signal, clock })
    await clock.advance(1000)
    expect((await call.message).status).toBe('complete')
    expect(listeners).toBe(0)
  })
})
