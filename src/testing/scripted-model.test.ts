import { APICallError } from '@ai-sdk/provider'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../base/clock.ts'
import { isLanguageModel, type LanguageModel, type StreamChunk } from '../define/language-model.ts'
import type { ModelRequest } from '../model/call-model.ts'
import { streamModel } from '../model/stream-model.ts'
import { scriptedModel } from './scripted-model.ts'

const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]

afterEach(() => {
  vi.restoreAllMocks()
})

describe.each(['v3', 'v4'] as const)('a scripted model of specification %s', (specificationVersion) => {
  const scripted = (script: Parameters<typeof scriptedModel>[0]) => scriptedModel(script, { specificationVersion })

  test('is a language model', () => {
    const model = scriptedModel('hi', { specificationVersion, provider: 'acme', modelId: 'm1' })
    expect(isLanguageModel(model)).toBe(true)
    expect(model).toMatchObject({ specificationVersion, provider: 'acme', modelId: 'm1' })
  })

  test('says a string', async () => {
    const { message, chunks } = await call(scripted('Hello.'))
    expect(message).toEqual({
      status: 'complete',
      parts: [{ type: 'text', text: 'Hello.' }],
      calls: [],
      model: { provider: 'scripted', modelId: 'scripted-model' },
      usage: { inputTokens: 10, outputTokens: 5 },
      finishReason: 'stop',
    })
    expect(chunks).toEqual([{ type: 'text_delta', id: 'text-0', delta: 'Hello.' }])
  })

  test('says everything a step can hold, in one message', async () => {
    const step = {
      reasoning: 'Let me see.',
      text: ['He', 'llo'],
      sources: ['https://a', { id: 'mine', url: 'https://b', title: 'B' }],
      calls: [
        { tool: 'refund', args: { cents: 1 } },
        { tool: 'search', args: 'not JSON', id: 'x' },
      ],
      usage: { inputTokens: 3, outputTokens: { total: 4, reasoning: 1 } },
    }
    const { message, chunks } = await call(scripted(step))
    expect(message).toMatchObject({
      parts: [
        { type: 'reasoning', text: 'Let me see.', providerMetadata: { scripted: { signature: 'signature-1' } } },
        { type: 'text', text: 'Hello' },
        { type: 'source', source: { sourceType: 'url', id: 'source-1', url: 'https://a' } },
        { type: 'source', source: { sourceType: 'url', id: 'mine', url: 'https://b', title: 'B' } },
        { type: 'call', callId: 'c1' },
        { type: 'call', callId: 'c2' },
      ],
      calls: [
        { callId: 'c1', providerCallId: 'call_1_1', name: 'refund', input: '{"cents":1}' },
        { callId: 'c2', providerCallId: 'x', name: 'search', input: 'not JSON' },
      ],
      usage: { inputTokens: 3, outputTokens: 4, reasoningTokens: 1 },
      finishReason: 'tool-calls',
    })
    expect(chunks.map((chunk) => [chunk.type, chunk.delta])).toEqual([
      ['reasoning_delta', 'Let me see.'],
      ['text_delta', 'He'],
      ['text_delta', 'llo'],
      ['tool_input_delta', '{"cents":1}'],
      ['tool_input_delta', 'not JSON'],
    ])
  })

  test('sends an object as the JSON text a model would', async () => {
    const { message } = await call(scripted({ object: { answer: 42 }, finishReason: 'length' }))
    expect(message).toMatchObject({ parts: [{ type: 'text', text: '{"answer":42}' }], finishReason: 'length' })
  })

  test('can say nothing', async () => {
    expect((await call(scripted({}))).message).toMatchObject({ status: 'complete', parts: [], finishReason: 'stop' })
  })

  test('takes one step of a list for each call, and says when there are no more', async () => {
    const model = scripted(['one', { text: 'two' }])
    expect((await call(model)).message.parts).toMatchObject([{ text: 'one' }])
    expect((await call(model)).message.parts).toMatchObject([{ text: 'two' }])
    const { message } = await call(model)
    expect(message.status).toBe('failed')
    expect(message.error!.message).toContain('the script has 2 steps, and this is call 3')
    expect(model.calls).toHaveLength(3)
  })

  test('asks a function what to say to a call', async () => {
    const model = scripted(({ n, prompt: [first], options }) => `${n} ${first!.role} ${options.temperature}`)
    await call(model)
    expect((await call(model, { settings: { temperature: 1 } })).message.parts).toMatchObject([{ text: '2 user 1' }])
  })

  test('waits for a function that takes its time, and fails with one that throws', async () => {
    expect((await call(scripted(async () => 'later'))).message.parts).toMatchObject([{ text: 'later' }])
    const { message } = await call(scripted(() => Promise.reject(new Error('no idea'))))
    expect(message).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('no idea') } })
  })

  test('records each prompt with its options', async () => {
    const model = scripted('hi')
    await call(model, { settings: { maxOutputTokens: 9 }, output: { schema: { type: 'object' } } })
    expect(model.calls).toEqual([
      {
        n: 1,
        prompt,
        options: {
          abortSignal: expect.any(AbortSignal),
          includeRawChunks: true,
          maxOutputTokens: 9,
          responseFormat: { type: 'json', schema: { type: 'object' } },
        },
      },
    ])
  })

  test('fails like an HTTP provider, with headers, and a retry takes the next step', async () => {
    const model = scripted([{ error: { status: 429, headers: { 'retry-after-ms': '1' } } }, 'after all'])
    const { message } = await call(model, { retry: { maxAttempts: 2, baseMs: 1e6, maxMs: 1e6 } })
    expect(message).toMatchObject({ status: 'complete', parts: [{ text: 'after all' }] })
    const error: unknown = await Promise.resolve(
      scripted({ error: { status: 429, headers: { a: 'b' } } }).doStream({ prompt }),
    ).catch((thrown) => thrown)
    expect(APICallError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ statusCode: 429, isRetryable: true, responseHeaders: { a: 'b' } })
  })

  test.each([
    [{ status: 401 }, 'model_unauthorized', 'scripted error 401'],
    [{ status: 400, message: 'too long' }, 'model_rejected', 'too long'],
    [{}, 'model_unreachable', 'Cannot connect'],
  ])('fails with %j as %s', async (error, code, words) => {
    const { message } = await call(scripted({ error }))
    expect(message).toMatchObject({ status: 'failed', error: { code, message: expect.stringContaining(words) } })
  })

  test('is cut in the middle of its answer', async () => {
    const model = scripted({ reasoning: 'hm', text: ['a', 'b', 'c'], cutAfter: 3 })
    const { message } = await call(model)
    expect(message).toMatchObject({
      status: 'failed',
      parts: [{ type: 'reasoning' }, { type: 'text', text: 'ab' }],
      error: { code: 'model_interrupted' },
    })
  })

  test('is cut before its first chunk, which is worth another try', async () => {
    const { message } = await call(scripted([{ text: 'a', cutAfter: 0 }, 'b']), {
      retry: { maxAttempts: 2, baseMs: 0, maxMs: 0 },
    })
    expect(message.parts).toMatchObject([{ text: 'b' }])
  })

  test('is cut after its last chunk, before the end', async () => {
    expect((await call(scripted({ text: 'a', cutAfter: 1 }))).message).toMatchObject({
      status: 'failed',
      parts: [{ text: 'a' }],
    })
  })

  test('pauses between its chunks, and stops when it is told to', async () => {
    const delayMs = 3_600_000
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const ended = vi.spyOn(globalThis, 'clearTimeout')
    const controller = new AbortController()
    const calling = call(scripted({ text: ['a', 'b'], delayMs }), { signal: controller.signal })
    const pauses = () => timers.mock.results.filter((_, n) => timers.mock.calls[n]![1] === delayMs)
    await vi.waitUntil(() => pauses().length === 1, { timeout: 20_000 })
    controller.abort()
    expect((await calling).message).toMatchObject({ status: 'aborted', parts: [{ text: 'a' }] })
    expect(pauses()).toHaveLength(1)
    expect(ended).toHaveBeenCalledWith(pauses()[0]!.value)
  })

  test('stalls when it is told to, and warns before it answers', async () => {
    const model = scripted({ text: ['a', 'b'], stallAfter: 1, warnings: ['mind the gap'] })
    const warnings: string[] = []
    const { message } = await call(model, {
      timeouts: { firstChunkMs: 60_000, betweenChunksMs: 500, totalMs: 60_000 },
      onAttempt: (attempt) => warnings.push(...attempt.warnings),
    })
    expect(message).toMatchObject({ status: 'failed', parts: [{ text: 'a' }], error: { code: 'model_timed_out' } })
    expect(warnings).toEqual(['other: mind the gap'])
  })

  test('pauses and goes on', async () => {
    expect((await call(scripted({ text: ['a', 'b'], delayMs: 1 }))).message).toMatchObject({
      status: 'complete',
      parts: [{ text: 'ab' }],
    })
  })

  test('honours the signal by itself', async () => {
    const controller = new AbortController()
    const { stream } = await scripted({ text: ['a', 'b'], delayMs: 3_600_000 }).doStream({
      prompt,
      abortSignal: controller.signal,
    })
    const seen: string[] = []
    const reading = (async () => {
      for await (const part of stream as AsyncIterable<{ type: string }>) {
        seen.push(part.type)
        if (part.type === 'text-delta') controller.abort(new Error('enough'))
      }
    })()
    await expect(reading).rejects.toThrow('enough')
    expect(seen).toEqual(['stream-start', 'response-metadata', 'text-start', 'text-delta'])
    const late = scripted('x').doStream({ prompt, abortSignal: AbortSignal.abort(new Error('enough')) })
    await expect(late).rejects.toThrow('enough')
  })

  test('answers at once what it would have streamed', async () => {
    const model = scripted([
      { reasoning: 'hm', text: ['He', 'llo'], sources: ['https://a'], calls: [{ tool: 'refund', args: {} }] },
      { text: 'a', cutAfter: 1 },
    ])
    expect(await model.doGenerate({ prompt })).toEqual({
      content: [
        { type: 'reasoning', text: 'hm', providerMetadata: { scripted: { signature: 'signature-1' } } },
        { type: 'text', text: 'Hello' },
        { type: 'source', sourceType: 'url', id: 'source-1', url: 'https://a' },
        { type: 'tool-call', toolCallId: 'call_1_1', toolName: 'refund', input: '{}' },
      ],
      finishReason: { unified: 'tool-calls', raw: 'tool-calls' },
      usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } },
      warnings: [],
    })
    await expect(model.doGenerate({ prompt })).rejects.toThrow('terminated')
    expect(model.calls.map(({ n }) => n)).toEqual([1, 2])
  })
})

async function call(model: LanguageModel, attributes: Partial<ModelRequest> = {}) {
  let calls = 0
  const chunks: StreamChunk[] = []
  const request: ModelRequest = {
    models: [model],
    prompt,
    tools: [],
    settings: {},
    retry: false,
    timeouts: { firstChunkMs: 60_000, betweenChunksMs: 60_000, totalMs: 60_000 },
    signal: new AbortController().signal,
    clock: systemClock,
    newCallId: () => `c${++calls}`,
    redact: (text) => text,
    ...attributes,
  }
  const message = await streamModel(request, (chunk) => chunks.push(chunk))
  return { message, chunks }
}
