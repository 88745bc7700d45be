import { describe, expect, test } from 'vitest'
import { endlessStream, finish, hello, model, ok, settled, start } from '../../test/support/unruly-model.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'

const timeouts = { firstChunkMs: 100, betweenChunksMs: 50, totalMs: 400 }
const ping = { type: 'raw', rawValue: { type: 'ping' } }

/** Sends each part that many milliseconds after the one before it, and then nothing. */
function slowly(clock: FakeClock, delayMs: number, parts: readonly unknown[]): Promise<unknown> {
  const stream = new ReadableStream({
    async start(controller) {
      for (const part of parts) {
        await new Promise<void>((resolve) => clock.after(delayMs, resolve))
        controller.enqueue(part)
      }
    },
  })
  return Promise.resolve({ stream })
}

describe('a stream that takes too long', () => {
  test.each<[string, (clock: FakeClock) => unknown, number, RegExp]>([
    ['a provider that never answers', () => new Promise(() => {}), 100, /no chunk arrived within 100 ms/],
    [
      'a stream without a first chunk; its start is made by the SDK',
      (clock) => slowly(clock, 10, [{ type: 'stream-start', warnings: [] }]),
      100,
      /no chunk arrived within 100 ms/,
    ],
    ['a stream that stalls after text', (clock) => slowly(clock, 40, [hello]), 90, /no chunk arrived for 50 ms/],
    [
      'a stream that stalls in the input of a call',
      (clock) =>
        slowly(clock, 40, [
          { type: 'tool-input-start', id: 'x', toolName: 'refund' },
          { type: 'tool-input-delta', id: 'x', delta: '{"order' },
        ]),
      130,
      /no chunk arrived for 50 ms/,
    ],
    [
      'a stream that is alive and never ends',
      (clock) =>
        slowly(
          clock,
          40,
          Array.from({ length: 20 }, () => ping),
        ),
      400,
      /the answer was not complete after 400 ms/,
    ],
  ])('%s is given up and tried again', async (_, step, afterMs, problem) => {
    const clock = fakeClock()
    const slow = model([() => step(clock), ok])
    const call = start({ models: [slow], clock, timeouts, retry: { maxAttempts: 2, baseMs: 0, maxMs: 0 } })
    await clock.advance(afterMs - 1)
    expect(slow.asked).toHaveLength(1)
    expect((slow.asked[0]!['abortSignal'] as AbortSignal).aborted).toBe(false)
    await clock.advance(1)
    expect((slow.asked[0]!['abortSignal'] as AbortSignal).aborted).toBe(true)
    await clock.advance(1)
    expect(await call.message).toMatchObject({ status: 'complete', parts: [{ text: 'hello' }] })
    expect(call.attempts[0]).toMatchObject({ status: 'failed', error: expect.stringMatching(problem) })
  })

  test('fails as timed out when it was the last attempt, and keeps what arrived', async () => {
    const clock = fakeClock()
    const call = start({ models: [model([() => slowly(clock, 10, [hello])])], clock, timeouts, retry: false })
    await clock.advance(1000)
    expect(await call.message).toMatchObject({
      status: 'failed',
      parts: [{ text: 'hello' }],
      error: { code: 'model_timed_out', retryable: true },
    })
  })

  test('is let go of', async () => {
    const clock = fakeClock()
    const { stream, wasCancelled } = endlessStream([hello])
    const call = start({ models: [model([() => Promise.resolve({ stream })])], clock, timeouts, retry: false })
    await clock.advance(1000)
    await call.message
    await settled()
    expect(wasCancelled()).toBe(true)
  })
})

test('a provider that only shows that it is alive is waited for', async () => {
  const clock = fakeClock()
  const thinking = model([() => slowly(clock, 45, [ping, ping, ping, ping, ping, hello, finish])])
  const call = start({ models: [thinking], clock, timeouts })
  await clock.advance(400)
  expect(await call.message).toMatchObject({ status: 'complete' })
})

test('a cancel is not taken for a limit', async () => {
  const clock = fakeClock()
  const controller = new AbortController()
  const call = start({
    models: [model([() => slowly(clock, 10, [hello])])],
    clock,
    timeouts,
    signal: controller.signal,
  })
  await clock.advance(20)
  controller.abort()
  expect(await call.message).toMatchObject({ status: 'aborted', parts: [{ text: 'hello' }] })
})

test('a process that slept past a limit reads what arrived meanwhile before it gives up, once', async () => {
  const clock = fakeClock()
  const controllers: ReadableStreamDefaultController[] = []
  const open = () =>
    Promise.resolve({ stream: new ReadableStream({ start: (controller) => void controllers.push(controller) }) })
  const call = start({ models: [model([open])], clock, timeouts, retry: false })
  await settled()
  await clock.set(clock.now() + 60_000)
  controllers[0]!.enqueue(hello)
  controllers[0]!.enqueue(finish)
  expect(await call.message).toMatchObject({ status: 'complete' })
})
