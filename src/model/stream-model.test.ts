import { describe, expect, test } from 'vitest'
import {
  endlessStream,
  finish,
  hello,
  httpError,
  lockedStream,
  model,
  ok,
  overloaded,
  settled,
  start,
  streamOf,
  throws,
} from '../../test/support/unruly-model.ts'
import { ModelError, TransformFailedError } from '../base/errors/model-errors.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { streamModel } from './stream-model.ts'

describe.each(['v3', 'v4'] as const)('a %s model', (specificationVersion) => {
  test('answers with its parts, usage and reason', async () => {
    const call = start({ models: [model([ok], { specificationVersion })] })
    expect(await call.message).toEqual({
      parts: [{ type: 'text', text: 'hello' }],
      calls: [],
      model: { provider: 'acme', modelId: 'm1' },
      usage: { inputTokens: 7, outputTokens: 2 },
      finishReason: 'stop',
      status: 'complete',
    })
    expect(call.chunks).toEqual([{ type: 'text_delta', id: 'text-0', delta: 'hello' }])
    expect(call.attempts).toEqual([
      {
        model: { provider: 'acme', modelId: 'm1' },
        attempt: 1,
        status: 'ok',
        latencyMs: 0,
        timeToFirstTokenMs: 0,
        usage: { inputTokens: 7, outputTokens: 2 },
        warnings: [],
      },
    ])
  })

  test('is asked in the words of its specification', async () => {
    const asked = model([ok], { specificationVersion })
    const tool = { type: 'function' as const, name: 'refund', inputSchema: { type: 'object' as const } }
    const bytes = new Uint8Array([1])
    await start({
      models: [asked],
      prompt: [
        { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes } }] },
      ],
      tools: [tool],
      settings: {
        temperature: 0,
        maxOutputTokens: 5,
        providerOptions: { acme: { fast: true } },
        toolChoice: 'required',
        reasoning: 'low',
      },
      output: { schema: { type: 'object' }, name: 'answer' },
    }).message
    const { abortSignal, ...options } = asked.asked[0]!
    expect(abortSignal).toBeInstanceOf(AbortSignal)
    expect(options).toEqual({
      includeRawChunks: true,
      prompt: [
        {
          role: 'user',
          content: [
            {
              type: 'file',
              mediaType: 'image/png',
              data: specificationVersion === 'v3' ? bytes : { type: 'data', data: bytes },
            },
          ],
        },
      ],
      tools: [tool],
      temperature: 0,
      maxOutputTokens: 5,
      providerOptions: { acme: { fast: true } },
      toolChoice: { type: 'required' },
      responseFormat: { type: 'json', schema: { type: 'object' }, name: 'answer' },
      ...(specificationVersion === 'v4' ? { reasoning: 'low' } : {}),
    })
  })

  test('is not sent settings that are not set', async () => {
    const asked = model([ok], { specificationVersion })
    await start({ models: [asked] }).message
    expect(Object.keys(asked.asked[0]!).sort()).toEqual(['abortSignal', 'includeRawChunks', 'prompt'])
  })

  test('is not asked to choose where there is nothing to choose', async () => {
    const asked = model([ok, ok], { specificationVersion })
    const tool = { type: 'function' as const, name: 'refund', inputSchema: { type: 'object' as const } }
    await start({ models: [asked], settings: { toolChoice: { type: 'auto' } } }).message
    await start({ models: [asked], tools: [tool] }).message
    expect(asked.asked.map((options) => 'toolChoice' in options)).toEqual([false, false])
  })
})

describe('before the first chunk', () => {
  test('a call that can get better is tried again, later each time', async () => {
    const clock = fakeClock()
    const flaky = model([() => Promise.reject(overloaded()), () => Promise.reject(httpError(500)), ok])
    const call = start({ models: [flaky], clock, random: () => 0 })
    await clock.advance(499)
    expect(flaky.asked).toHaveLength(1)
    await clock.advance(1)
    expect(flaky.asked).toHaveLength(2)
    await clock.advance(999)
    expect(flaky.asked).toHaveLength(2)
    await clock.advance(1)
    expect(await call.message).toMatchObject({ status: 'complete', parts: [{ text: 'hello' }] })
    expect(call.attempts.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 'failed'],
      [2, 'failed'],
      [3, 'ok'],
    ])
    expect(call.attempts[0]!.error).toContain('acme/m1')
  })

  test.each([
    [{ 'retry-after': '20' }, 20_000],
    [{ 'Retry-After-Ms': '1500' }, 1500],
    [{ 'retry-after': '86400' }, 60_000],
  ])('a provider that names its time (%j) is asked again then', async (headers, delayMs) => {
    const clock = fakeClock()
    const busy = model([() => Promise.reject(overloaded(headers)), ok])
    const call = start({ models: [busy], clock })
    await clock.advance(delayMs - 1)
    expect(busy.asked).toHaveLength(1)
    await clock.advance(1)
    expect((await call.message).status).toBe('complete')
  })

  test.each<[string, () => unknown]>([
    ['a rejection', () => Promise.reject(httpError(503))],
    ['a throw', throws(httpError(503))],
    [
      'an error part',
      () =>
        streamOf([
          { type: 'stream-start', warnings: [] },
          { type: 'error', error: { type: 'overloaded_error' } },
        ]),
    ],
    ['a stream that breaks', () => streamOf([{ type: 'ping' }], Object.assign(new Error('x'), { code: 'ECONNRESET' }))],
    ['a stream that ends', () => streamOf([])],
    [
      'a stream that ends with the frame of a text',
      () =>
        streamOf([
          { type: 'text-start', id: '0' },
          { type: 'text-end', id: '0' },
        ]),
    ],
    [
      'a finish that says it was cut',
      () => streamOf([{ ...finish, finishReason: { unified: 'interrupted', raw: undefined } }]),
    ],
    [
      'a finish that says it failed',
      () => streamOf([{ ...finish, finishReason: { unified: 'error', raw: 'MALFORMED' } }]),
    ],
    [
      'a connection that is refused',
      () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
    ],
  ])('%s is tried again', async (_, step) => {
    const flaky = model([step, ok])
    expect(await start({ models: [flaky] }).message).toMatchObject({ status: 'complete', parts: [{ text: 'hello' }] })
  })

  test.each<[string, () => unknown, string]>([
    ['a refused request', () => Promise.reject(httpError(400)), 'model_rejected'],
    ['a wrong key', () => Promise.reject(httpError(401)), 'model_unauthorized'],
    ['a bug in the provider', throws(new TypeError('x is not a function')), 'model_failed'],
    ['a rejection with undefined', () => Promise.reject(undefined), 'model_failed'],
    ['a throw of undefined', throws(undefined), 'model_failed'],
    ['an answer without a stream', () => Promise.resolve({}), 'model_failed'],
    ['no answer', () => Promise.resolve(undefined), 'model_failed'],
    ['a stream that is read already', () => Promise.resolve({ stream: lockedStream() }), 'model_failed'],
  ])('%s is not tried again', async (_, step, code) => {
    const broken = model([step, ok])
    const call = start({ models: [broken] })
    const message = await call.message
    expect(message).toMatchObject({ status: 'failed', parts: [], calls: [], finishReason: 'error', usage: {} })
    expect(message.error).toBeInstanceOf(ModelError)
    expect(message.error!.code).toBe(code)
    expect(broken.asked).toHaveLength(1)
    expect(call.attempts.map(({ status }) => status)).toEqual(['failed'])
  })

  test('attempts have an end', async () => {
    const down = model(Array.from({ length: 9 }, () => () => Promise.reject(httpError(500))))
    const message = await start({ models: [down], retry: { maxAttempts: 4, baseMs: 0, maxMs: 0 } }).message
    expect(message).toMatchObject({
      status: 'failed',
      error: { code: 'model_failed', retryable: true, statusCode: 500 },
    })
    expect(down.asked).toHaveLength(4)
  })

  test('retries can be switched off', async () => {
    const down = model([() => Promise.reject(overloaded()), ok])
    expect(await start({ models: [down], retry: false }).message).toMatchObject({
      error: { code: 'model_rate_limited' },
    })
  })
})

describe('fallback models', () => {
  test('are asked in order, each with retries of its own', async () => {
    const first = model([() => Promise.reject(httpError(500)), () => Promise.reject(httpError(500))], { modelId: 'm1' })
    const second = model([() => Promise.reject(httpError(400))], { modelId: 'm2' })
    const third = model([() => Promise.reject(overloaded()), ok], { modelId: 'm3', specificationVersion: 'v3' })
    const call = start({ models: [first, second, third], retry: { maxAttempts: 2, baseMs: 0, maxMs: 0 } })
    expect(await call.message).toMatchObject({ status: 'complete', model: { modelId: 'm3' } })
    expect(call.attempts.map(({ model: { modelId }, attempt, status }) => [modelId, attempt, status])).toEqual([
      ['m1', 1, 'failed'],
      ['m1', 2, 'failed'],
      ['m2', 1, 'failed'],
      ['m3', 1, 'failed'],
      ['m3', 2, 'ok'],
    ])
  })

  test('get a prompt rendered for them', async () => {
    const first = model([() => Promise.reject(httpError(400))], { modelId: 'm1' })
    const second = model([ok], { modelId: 'm2' })
    await start({
      models: [first, second],
      prompt: (reader) => [{ role: 'system', content: `for ${reader.modelId}` }],
    }).message
    expect([first, second].map(({ asked }) => asked[0]!.prompt)).toEqual([
      [{ role: 'system', content: 'for m1' }],
      [{ role: 'system', content: 'for m2' }],
    ])
  })

  test('are asked when the streams of the first break off, and what it said is void', async () => {
    const first = model([() => streamOf([{ ...hello, delta: 'never' }], new Error('cut'))], { modelId: 'm1' })
    const second = model([ok], { modelId: 'm2' })
    const call = start({ models: [first, second], retry: false })
    expect(await call.message).toMatchObject({
      status: 'complete',
      model: { modelId: 'm2' },
      parts: [{ text: 'hello' }],
    })
    expect(call.discarded).toEqual([
      { model: { provider: 'acme', modelId: 'm1' }, usage: {}, code: 'model_interrupted' },
    ])
  })

  test('when all fail, the error tells of all', async () => {
    const first = model([() => Promise.reject(httpError(429))], { modelId: 'm1' })
    const second = model([() => Promise.reject(httpError(401))], { modelId: 'm2' })
    const { error, model: last } = await start({ models: [first, second], retry: false }).message
    expect(last.modelId).toBe('m2')
    expect(error).toMatchObject({ code: 'model_unauthorized', retryable: true, modelId: 'm2' })
    expect(error!.message).toMatch(/acme\/m1 .*429.* Then acme\/m2 .*401/)
  })

  test('there must be a model', async () => {
    await expect(start({ models: [] }).message).rejects.toThrow(PerdureError)
  })
})

describe('transformChunk', () => {
  test('decides what is shown and what the message says', async () => {
    const call = start({
      models: [model([ok])],
      transformChunk: (chunk) => ({ ...chunk, delta: chunk.delta.toUpperCase() }),
    })
    expect(await call.message).toMatchObject({ parts: [{ text: 'HELLO' }] })
    expect(call.chunks).toMatchObject([{ delta: 'HELLO' }])
  })

  test('that throws fails the call, since going on would show what it was to change', async () => {
    const other = model([ok])
    const call = start({
      models: [model([() => streamOf([{ ...hello, delta: 'fine' }, hello, finish]), ok]), other],
      transformChunk: (chunk) => {
        if (chunk.delta === 'hello') throw new Error('oops')
        return chunk
      },
    })
    const message = await call.message
    expect(message).toMatchObject({ status: 'failed', parts: [{ text: 'fine' }] })
    expect(message.error).toBeInstanceOf(TransformFailedError)
    expect(call.chunks).toMatchObject([{ delta: 'fine' }])
    expect(other.asked).toHaveLength(0)
  })
})

test('what the caller does wrong is not taken for a fault of the provider', async () => {
  const oops = new Error('oops')
  await expect(start({ models: [model([ok])], prompt: throws(oops) }).message).rejects.toBe(oops)
  const { stream, wasCancelled } = endlessStream([hello])
  const request = start({ models: [model([ok])] }).request
  const failing = streamModel({ ...request, models: [model([() => Promise.resolve({ stream })])] }, throws(oops))
  await expect(failing).rejects.toBe(oops)
  await settled()
  expect(wasCancelled()).toBe(true)
})
