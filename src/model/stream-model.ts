import { AbortableWaits, pause } from '../base/abort.ts'
import { TransformFailedError } from '../base/errors/model-errors.ts'
import type { PerdureError } from '../base/errors/perdure-error.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { isRecord } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import { type ChunkTransformer, type LanguageModel, modelRef, type StreamChunk } from '../define/language-model.ts'
import type { ModelRef, Usage } from '../log/events.ts'
import { callModel, type ModelRequest } from './call-model.ts'
import { decideRetry, type Fault, faultOf, type ModelFault, modelError, ownFault, wordsOf } from './fault.ts'
import { MessageBuilder } from './message-builder.ts'
import {
  callsOf,
  type DraftFinish,
  emptyDraft,
  hasBegun,
  type MessageDraft,
  type MessagePart,
  partsOf,
  type RawCall,
} from './message-draft.ts'

/** The outcome of a model call. Everything except the bytes of generated files is plain JSON. */
export type ModelMessage = {
  /** In stream order. A `call` part has Perdure's `callId`. */
  readonly parts: readonly MessagePart[]
  /** Complete calls of the agent's own tools. Not parsed or checked yet. */
  readonly calls: readonly RawCall[]
  /** The model that answered, or the last one tried. */
  readonly model: ModelRef
  readonly usage: Usage
  readonly finishReason: string
  readonly status: 'complete' | 'failed' | 'aborted'
  /** Why it failed. */
  readonly error?: PerdureError
}

/**
 * Makes one model call. Retries, and then tries the next model, only while nothing of the answer has arrived. After
 * that, a failure keeps what arrived. Never rejects for a provider's error; returns at once when the signal aborts.
 * `onChunk` must not throw.
 */
export async function streamModel(request: ModelRequest, onChunk: (chunk: StreamChunk) => void): Promise<ModelMessage> {
  const { signal, clock } = request
  if (request.models.length === 0) throw new InvalidArgumentError('models', 'must have at least one')
  const faults: ModelFault[] = []
  for (const candidate of request.models) {
    const model = modelRef(candidate)
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) return message(model, emptyDraft, 'aborted')
      const startedAt = clock.now()
      const { draft, firstAt, result } = await streamAttempt(candidate, request, onChunk)
      const error = errorOf(model, result)
      request.onAttempt?.({
        model,
        attempt,
        status: reportStatus[result.type],
        latencyMs: clock.now() - startedAt,
        timeToFirstTokenMs: firstAt === null ? null : firstAt - startedAt,
        usage: draft.finish?.usage ?? {},
        ...(error ? { error: error.message } : {}),
      })
      if (result.type === 'complete' || result.type === 'aborted') return message(model, draft, result.type)
      if (result.type === 'transform_failed' || hasBegun(draft))
        return { ...message(model, draft, 'failed'), error: error! }
      const delayMs = decideRetry(result.fault, attempt, request.retry, request.random ?? Math.random)
      if (delayMs === null) {
        faults.push({ model, fault: result.fault })
        break
      }
      if (!(await pause(delayMs, { clock, signal }))) return message(model, emptyDraft, 'aborted')
    }
  }
  return { ...message(faults.at(-1)!.model, emptyDraft, 'failed'), error: modelError(faults) }
}

const reportStatus = { complete: 'ok', aborted: 'cancelled', failed: 'failed', transform_failed: 'failed' } as const

function errorOf(model: ModelRef, result: AttemptEnd['result']): PerdureError | null {
  if (result.type === 'transform_failed') return result.error
  return result.type === 'failed' ? modelError([{ model, fault: result.fault }]) : null
}

function message(model: ModelRef, draft: MessageDraft, status: ModelMessage['status']): ModelMessage {
  const cutReason = { complete: 'other', failed: 'error', aborted: 'aborted' }[status]
  return {
    parts: partsOf(draft),
    calls: callsOf(draft),
    model,
    usage: draft.finish?.usage ?? {},
    finishReason: draft.finish?.reason ?? cutReason,
    status,
  }
}

/** The outcome of one request to one provider. The draft has whatever arrived. */
type AttemptEnd = {
  readonly draft: MessageDraft
  /** When the first part arrived. */
  readonly firstAt: number | null
  readonly result: AttemptResult
}

type AttemptResult =
  | { readonly type: 'complete' }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly fault: Fault }
  | { readonly type: 'transform_failed'; readonly error: TransformFailedError }

/**
 * Reads one answer to its end. Never rejects for a provider's error. Ends at once when the signal aborts, even if the
 * provider ignores it: later parts are dropped.
 */
async function streamAttempt(
  model: LanguageModel,
  request: ModelRequest,
  onChunk: (chunk: StreamChunk) => void,
): Promise<AttemptEnd> {
  const { signal, clock } = request
  const prompt = typeof request.prompt === 'function' ? request.prompt(model) : request.prompt
  const waits = new AbortableWaits(signal)
  try {
    const opening = callModel(model, prompt, request)
    const opened = await waits.wait(() => opening)
    if (opened.type === 'value') return await readAnswer(opened.value, request, waits, onChunk)
    opening.then(releaseReader, () => {})
    const result: AttemptResult =
      opened.type === 'aborted' ? opened : { type: 'failed', fault: faultOf(opened.error, clock.now(), request.redact) }
    return { draft: emptyDraft, firstAt: null, result }
  } finally {
    waits.stop()
  }
}

type Reader = { read(): Promise<unknown>; cancel(): Promise<unknown> }

/** A stream that never pauses must not block the event loop. */
const partsWithoutPause = 256

async function readAnswer(
  reader: Reader,
  request: ModelRequest,
  waits: AbortableWaits,
  onChunk: (chunk: StreamChunk) => void,
): Promise<AttemptEnd> {
  const { clock } = request
  const builder = new MessageBuilder({
    newCallId: request.newCallId,
    transform: (chunk) => transformChunk(chunk, request.transformChunk ?? null),
  })
  let firstAt: number | null = null
  const end = (result: AttemptResult): AttemptEnd => ({ draft: builder.draft, firstAt, result })
  const fail = (fault: Fault): AttemptEnd => {
    // Once something was shown, the interruption matters more than its cause.
    return end({ type: 'failed', fault: builder.hasBegun ? { ...fault, code: 'model_interrupted' } : fault })
  }
  try {
    for (let count = 1; ; count++) {
      if (count % partsWithoutPause === 0) await new Promise((resolve) => setImmediate(resolve))
      const next = await waits.wait(() => reader.read())
      if (next.type === 'aborted') return end(next)
      if (next.type === 'error') return fail(faultOf(next.error, clock.now(), request.redact))
      const added = take(builder, next.value)
      if (added === null) return fail(cutOff)
      if (added instanceof TransformFailedError) return end({ type: 'transform_failed', error: added })
      if ('error' in added) return fail(faultOf(added.error, clock.now(), request.redact))
      if (firstAt === null && builder.hasBegun) firstAt = clock.now()
      if (added.chunk) onChunk(added.chunk)
      const { finish } = builder.draft
      if (finish) {
        const fault = faultIn(finish, request.redact)
        return fault ? fail(fault) : end({ type: 'complete' })
      }
    }
  } finally {
    releaseReader(reader)
  }
}

const cutOff = ownFault('model_unreachable', 'the stream ended without a finish')

/** Null at the end of the stream. An `error` part ends the message, because what follows it is unreliable. */
function take(builder: MessageBuilder, read: unknown) {
  try {
    if (!isRecord(read) || read['done'] === true) return null
    const part = read['value']
    if (isRecord(part) && part['type'] === 'error') return { error: part['error'] }
    return { chunk: builder.add(part) }
  } catch (error) {
    return error instanceof TransformFailedError ? error : { error }
  }
}

function faultIn({ reason, raw }: DraftFinish, redact: Redact): Fault | null {
  if (reason === 'interrupted') return cutOff
  return reason === 'error'
    ? ownFault('model_failed', raw === null ? 'it finished with an error' : wordsOf(raw, redact))
    : null
}

/** Does not wait for the provider to stop, and ignores its errors. */
function releaseReader(reader: Reader): void {
  const cancel = async (): Promise<unknown> => reader.cancel()
  cancel().catch(() => {})
}

/**
 * The only place that calls the stream transformer. Null drops the chunk: the result was unknown or empty. Only `delta`
 * may change, because the stream decides what a chunk belongs to.
 */
export function transformChunk(chunk: StreamChunk, transform: ChunkTransformer | null): StreamChunk | null {
  const { delta } = transform ? changed(chunk, transform) : chunk
  return typeof delta === 'string' && delta !== '' ? { ...chunk, delta } : null
}

function changed(chunk: StreamChunk, transform: ChunkTransformer): { readonly delta?: unknown } {
  let result: unknown
  try {
    result = transform(chunk)
  } catch (cause) {
    throw TransformFailedError.threw(cause)
  }
  if (isPromise(result)) {
    // Its failure is not told: that there is a promise at all is the mistake.
    Promise.resolve(result).catch(() => {})
    throw TransformFailedError.returnedPromise()
  }
  return isRecord(result) && nameOf(result) === nameOf(chunk) ? result : {}
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return isRecord(value) && typeof value['then'] === 'function'
}

function nameOf(chunk: { readonly [key: string]: unknown }): string {
  return JSON.stringify([chunk['type'], chunk['id'], chunk['callId'], chunk['name']])
}
