import { describe, expect, test } from 'vitest'
import {
  endlessStream,
  finish,
  hello,
  hostilePart,
  hostileRead,
  httpError,
  model,
  ok,
  readerOf,
  settled,
  start,
  streamOf,
  throws,
} from '../../test/support/unruly-model.ts'
import { fakeClock } from '../testing/fake-clock.ts'

describe('after the first chunk', () => {
  const call = { type: 'tool-call', toolCallId: 'x', toolName: 'refund', input: '{}' }
  const given = [hello, call].map((value) => () => ({ value }))

  test.each<[string, () => unknown]>([
    ['a stream that breaks', () => streamOf([hello, call], httpError(503))],
    ['a stream that breaks with undefined', () => streamOf([hello, call], undefined, true)],
    ['a stream that ends without a finish', () => streamOf([hello, call])],
    ['an error part', () => streamOf([hello, call, { type: 'error', error: 'oops' }, hello, finish])],
    ['an error part with nothing in it', () => streamOf([hello, call, { type: 'error' }, finish])],
    [
      'a finish that says it was cut',
      () => streamOf([hello, call, { ...finish, finishReason: { unified: 'interrupted' } }]),
    ],
    ['a finish that says it failed', () => streamOf([hello, call, { ...finish, finishReason: { unified: 'error' } }])],
    ['a part that throws when it is read', () => streamOf([hello, call, hostilePart(), finish])],
    ['a reader that throws', () => readerOf([...given, throws(new Error('no'))])],
    ['a reader that gives what throws when it is looked at', () => readerOf([...given, hostileRead])],
    ['a reader that gives nothing', () => readerOf([...given, () => null])],
  ])('%s is tried again, and its last attempt keeps what has come', async (_, step) => {
    const healed = start({ models: [model([step, ok])] })
    expect(await healed.message).toMatchObject({
      status: 'complete',
      parts: [{ type: 'text', text: 'hello' }],
      calls: [],
    })
    expect(healed.discarded).toHaveLength(1)
    const broken = model([step, step])
    const run = start({ models: [broken], retry: { maxAttempts: 2, baseMs: 0, maxMs: 0 }, newCallId: () => 'call-1' })
    const message = await run.message
    expect(message).toMatchObject({
      status: 'failed',
      parts: [
        { type: 'text', text: 'hello' },
        { type: 'call', callId: 'call-1' },
      ],
      calls: [{ callId: 'call-1', providerCallId: 'x' }],
      error: { code: expect.stringMatching(/^model_(interrupted|overloaded)$/), retryable: true },
    })
    expect(broken.asked).toHaveLength(2)
    expect(run.discarded).toHaveLength(1)
    const failed = { status: 'failed', timeToFirstTokenMs: 0, error: expect.stringContaining('acme/m1') }
    expect(run.attempts).toMatchObject([failed, failed])
  })

  test.each([
    ['refuses the request', { type: 'invalid_request_error' }, 'model_rejected'],
    ['does not accept the key', { type: 'authentication_error' }, 'model_unauthorized'],
  ])('a stream that %s is not tried again, since the next would be refused too', async (_, error, code) => {
    const refused = model([() => streamOf([hello, { type: 'error', error }]), ok])
    const message = await start({ models: [refused] }).message
    expect(message).toMatchObject({ status: 'failed', parts: [{ text: 'hello' }], error: { code } })
    expect(refused.asked).toHaveLength(1)
  })

  test('a message in which the host has run a call is not tried again: the call could run twice', async () => {
    const hosted = { type: 'tool-call', toolCallId: 's', toolName: 'search', input: '{}', providerExecuted: true }
    const broken = model([() => streamOf([hosted], httpError(503)), ok])
    const second = model([ok])
    const call = start({ models: [broken, second] })
    expect(await call.message).toMatchObject({ status: 'failed', parts: [{ type: 'provider_call', name: 'search' }] })
    expect([broken.asked.length, second.asked.length, call.discarded.length]).toEqual([1, 0, 0])
  })

  test.each([
    [
      'at the beginning of its stream',
      { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 4 } } },
      { inputTokens: 9, cacheReadTokens: 4 },
    ],
    ['in every chunk', { usage: { prompt_tokens: 5, completion_tokens: 2 } }, { inputTokens: 5, outputTokens: 2 }],
    [
      'inside a response',
      { response: { usage: { input_tokens: 5, output_tokens: 2 } } },
      { inputTokens: 5, outputTokens: 2 },
    ],
    ['nowhere', { usage: null }, {}],
  ])('usage that a provider tells %s is known of a stream that breaks', async (_, rawValue, usage) => {
    const torn = () => streamOf([{ type: 'raw', rawValue }, { type: 'raw', rawValue: 'ping' }, hello], new Error('cut'))
    const call = start({ models: [model([torn, ok])] })
    expect(await call.message).toMatchObject({ status: 'complete', usage: { inputTokens: 7, outputTokens: 2 } })
    expect(call.discarded).toEqual([{ model: { provider: 'acme', modelId: 'm1' }, usage, code: 'model_interrupted' }])
    expect(call.attempts.map((attempt) => attempt.usage)).toEqual([usage, { inputTokens: 7, outputTokens: 2 }])
  })

  test('a finish without a reason and without usage is a connection that was closed', async () => {
    const closed = { type: 'finish', finishReason: { unified: 'other', raw: undefined }, usage: { inputTokens: {} } }
    const call = start({ models: [model([() => streamOf([hello, closed]), ok])] })
    expect(await call.message).toMatchObject({ status: 'complete', finishReason: 'stop' })
    const told = { ...closed, usage: finish.usage }
    expect(await start({ models: [model([() => streamOf([hello, told])])] }).message).toMatchObject({
      status: 'complete',
      finishReason: 'other',
    })
  })

  test('a reader may answer at once, or by anything that has a `then`, which may call back as often as it likes', async () => {
    const thenable = (value: unknown) => ({
      // biome-ignore lint/suspicious/noThenProperty: that is what is tried out.
      then(resolve: (read: unknown) => void, reject: (error: unknown) => void) {
        resolve({ value })
        resolve({ value: finish })
        reject(new Error('no'))
      },
    })
    const reads = [() => ({ value: hello }), () => thenable(hello), () => ({ value: finish })]
    const run = start({ models: [model([() => readerOf(reads)])] })
    expect(await run.message).toMatchObject({ status: 'complete', parts: [{ type: 'text', text: 'hellohello' }] })
  })

  test('the time to the first token is that of the first content', async () => {
    const clock = fakeClock()
    const slow = model([
      () =>
        Promise.resolve({
          stream: new ReadableStream({
            async start(controller) {
              for (const part of [{ type: 'stream-start', warnings: [] }, hello, finish]) {
                await new Promise<void>((resolve) => clock.after(100, resolve))
                controller.enqueue(part)
              }
            },
          }),
        }),
    ])
    const run = start({ models: [slow], clock })
    await clock.advance(1000)
    await run.message
    expect(run.attempts).toMatchObject([{ timeToFirstTokenMs: 200, latencyMs: 300 }])
  })

  test('nothing is read past the finish, though the stream goes on', async () => {
    const { stream, wasCancelled } = endlessStream([hello, finish, hello])
    const message = await start({ models: [model([() => Promise.resolve({ stream })])] }).message
    expect(message).toMatchObject({ status: 'complete', parts: [{ text: 'hello' }] })
    await settled()
    expect(wasCancelled()).toBe(true)
  })
})
