import { APICallError } from '@ai-sdk/provider'
import { createRedactor } from '../../src/base/redact/redactor.ts'
import type { LanguageModel, StreamChunk } from '../../src/define/language-model.ts'
import type { AttemptReport, DiscardedAttempt, ModelRequest } from '../../src/model/call-model.ts'
import { streamModel } from '../../src/model/stream-model.ts'

export const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'end' },
  usage: { inputTokens: { total: 7 }, outputTokens: { total: 2 } },
}
export const hello = { type: 'text-delta', id: '0', delta: 'hello' }

export const ok = () => streamOf([hello, finish])
export const overloaded = (headers: Record<string, string> = {}) => httpError(429, headers)

export type TestModel = LanguageModel & { readonly asked: Record<string, unknown>[] }

/** Answers each call with the next step, which may do anything. */
export function model(steps: readonly (() => unknown)[], attributes: object = {}): TestModel {
  const asked: Record<string, unknown>[] = []
  const doStream = (options: Record<string, unknown>): unknown => {
    asked.push(options)
    const step = steps[asked.length - 1]
    return step ? step() : Promise.reject(new Error('not expected to be asked so often'))
  }
  return {
    specificationVersion: 'v4',
    provider: 'acme',
    modelId: 'm1',
    supportedUrls: {},
    doStream,
    asked,
    ...attributes,
  } as unknown as TestModel
}

export function start(attributes: Partial<ModelRequest>) {
  const chunks: StreamChunk[] = []
  const attempts: AttemptReport[] = []
  const discarded: DiscardedAttempt[] = []
  let calls = 0
  const request: ModelRequest = {
    models: [],
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    tools: [],
    settings: {},
    retry: attributes.clock ? { maxAttempts: 3, baseMs: 500, maxMs: 8000 } : { maxAttempts: 3, baseMs: 0, maxMs: 0 },
    signal: new AbortController().signal,
    clock: attributes.clock ?? { now: () => 0, after: soon },
    timeouts: { firstChunkMs: 600_000, betweenChunksMs: 600_000, totalMs: 600_000 },
    newCallId: () => `call-${++calls}`,
    onDiscard: (attempt) => discarded.push(attempt),
    onAttempt: (attempt) => attempts.push(attempt),
    redact: createRedactor({ env: {} }),
    ...attributes,
  }
  return { message: streamModel(request, (chunk) => chunks.push(chunk)), chunks, attempts, discarded, request }
}

/** No test waits for a real delay. */
function soon(delayMs: number, callback: () => void): () => void {
  if (delayMs < 60_000) setImmediate(callback)
  return () => {}
}

/** The parts, and then the end or an error. */
export function streamOf(parts: readonly unknown[], error?: unknown, isBroken = error !== undefined): Promise<unknown> {
  const rest = [...parts]
  const stream = new ReadableStream({
    pull(controller) {
      if (rest.length > 0) controller.enqueue(rest.shift())
      else if (isBroken) controller.error(error)
      else controller.close()
    },
  })
  return Promise.resolve({ stream })
}

/** The parts, and then silence. */
export function endlessStream(parts: readonly unknown[]) {
  let isCancelled = false
  const stream = new ReadableStream({
    start: (controller) => parts.forEach((part) => void controller.enqueue(part)),
    cancel: () => {
      isCancelled = true
    },
  })
  return { stream, wasCancelled: () => isCancelled }
}

export function lockedStream(): ReadableStream {
  const stream = new ReadableStream()
  stream.getReader()
  return stream
}

/** A stream whose reader answers a `read` as each step says, and then never. */
export function readerOf(reads: readonly (() => unknown)[]): Promise<unknown> {
  const rest = [...reads]
  const read = (): unknown => (rest.shift() ?? (() => new Promise(() => {})))()
  return Promise.resolve({ stream: { getReader: () => ({ read, cancel: () => Promise.resolve() }) } })
}

/** Throws when one looks whether it is the end. */
export function hostileRead(): object {
  return Object.defineProperty({}, 'done', { get: throws(undefined) })
}

export function hostilePart(): object {
  return Object.defineProperty({}, 'type', { get: throws(undefined) })
}

export function httpError(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: `scripted ${statusCode}`,
    url: '',
    requestBodyValues: {},
    statusCode,
    responseHeaders,
  })
}

export function throws(error: unknown): () => never {
  return () => {
    throw error
  }
}

export function everyProperty(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner instanceof Error
      ? Object.fromEntries(Object.getOwnPropertyNames(inner).map((name) => [name, inner[name as keyof Error]]))
      : inner,
  )
}

export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
