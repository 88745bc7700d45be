import { AbortableWaits, linkSignal } from '../base/abort.ts'
import { afterAwaited, type Clock, monotonic } from '../base/clock.ts'
import { TransformFailedError } from '../base/errors/model-errors.ts'
import { isRecord } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import type { TimeoutSettings } from '../define/agent.ts'
import type { ChunkTransformer, LanguageModel, StreamChunk } from '../define/language-model.ts'
import type { Usage } from '../log/events.ts'
import { callModel, type ModelRequest } from './call-model.ts'
import { type Fault, faultOf, ownFault, streamFault, wordsOf } from './fault.ts'
import { MessageBuilder } from './message-builder.ts'
import { type DraftFinish, emptyDraft, type MessageDraft, readRawUsage } from './message-draft.ts'

/** The outcome of one request to one provider. The draft has whatever arrived. */
export type AttemptEnd = {
  readonly draft: MessageDraft
  /** When the first part arrived. */
  readonly firstAt: number | null
  /** The usage that the provider reported, even if the stream broke. */
  readonly usage: Usage
  /** The provider's warnings, redacted. */
  readonly warnings: readonly string[]
  readonly result: AttemptResult
}

type AttemptResult =
  | { readonly type: 'complete' }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly fault: Fault }
  | { readonly type: 'transform_failed'; readonly error: TransformFailedError }

/**
 * Reads one answer to its end. Never rejects for a provider's error. Ends at once when the signal aborts or a limit
 * passes, even if the provider ignores it: later parts are dropped.
 */
export async function streamAttempt(
  model: LanguageModel,
  request: ModelRequest,
  onChunk: (chunk: StreamChunk) => void,
): Promise<AttemptEnd> {
  const { clock, redact } = request
  const prompt = typeof request.prompt === 'function' ? request.prompt(model) : request.prompt
  const limits = new StreamLimits(request.timeouts, clock, request.signal)
  const waits = new AbortableWaits(limits.signal)
  const nothing = { draft: emptyDraft, firstAt: null, usage: {}, warnings: [] }
  try {
    const opening = callModel(model, prompt, { ...request, signal: limits.signal })
    const opened = await waits.wait(() => opening)
    if (opened.type === 'value') return await readAnswer(opened.value, request, { waits, limits }, onChunk)
    opening.then(releaseReader, () => {})
    const late = limits.passed === null ? null : tookTooLong(limits.passed)
    if (late) return { ...nothing, result: { type: 'failed', fault: late } }
    const result: AttemptResult =
      opened.type === 'aborted' ? opened : { type: 'failed', fault: faultOf(opened.error, clock.now(), redact) }
    return { ...nothing, result }
  } finally {
    waits.stop()
    limits.stop()
  }
}

/** A timer that fires this much too late shows that the process did not run. */
const lateMs = 1_000

/** The limits of one attempt. Must be stopped. */
class StreamLimits {
  /** Aborts with the parent, and when a limit has passed. */
  readonly signal: AbortSignal
  readonly #timeouts: TimeoutSettings
  readonly #clock: Clock
  readonly #link: ReturnType<typeof linkSignal>
  readonly #startedAt: number
  #heardAt: number | null = null
  #callOff = (): void => {}
  #passed: string | null = null
  #wasLate = false

  constructor(timeouts: TimeoutSettings, clock: Clock, parent: AbortSignal) {
    this.#timeouts = timeouts
    this.#clock = clock
    this.#link = linkSignal(parent)
    this.signal = this.#link.signal
    this.#startedAt = monotonic(clock)
    this.#wait()
  }

  /** What took too long; null while no limit has passed. */
  get passed(): string | null {
    return this.#passed
  }

  /** A chunk has arrived. Sets no timer, except at the first chunk where the limit between chunks is the shorter one. */
  heard(): void {
    const { firstChunkMs, betweenChunksMs } = this.#timeouts
    const isShorter = this.#heardAt === null && betweenChunksMs < firstChunkMs && !this.#wasLate
    this.#heardAt = monotonic(this.#clock)
    if (!isShorter) return
    this.#callOff()
    this.#wait()
  }

  stop(): void {
    this.#callOff()
    this.#link.unlink()
  }

  /** Waits for the earliest limit, which each arriving chunk moves. */
  #wait(): void {
    const endsAt = this.#startedAt + this.#timeouts.totalMs
    const chunkDueAt = this.#chunkDueAt()
    const remainingMs = Math.min(chunkDueAt, endsAt) - monotonic(this.#clock)
    if (remainingMs > 0) {
      this.#callOff = afterAwaited(remainingMs, this.#clock, () => this.#wait())
      return
    }
    // The process was suspended or starved: chunks that have arrived are read before the attempt is given up.
    if (-remainingMs > lateMs && !this.#wasLate) {
      this.#wasLate = true
      this.#callOff = afterAwaited(lateMs, this.#clock, () => this.#wait())
      return
    }
    this.#passed = this.#tooLate(chunkDueAt < endsAt)
    this.#link.abort(new DOMException(this.#passed, 'TimeoutError'))
  }

  #chunkDueAt(): number {
    const { firstChunkMs, betweenChunksMs } = this.#timeouts
    return this.#heardAt === null ? this.#startedAt + firstChunkMs : this.#heardAt + betweenChunksMs
  }

  #tooLate(isChunk: boolean): string {
    const { firstChunkMs, betweenChunksMs, totalMs } = this.#timeouts
    if (!isChunk) return `the answer was not complete after ${totalMs} ms`
    return this.#heardAt === null
      ? `no chunk arrived within ${firstChunkMs} ms`
      : `no chunk arrived for ${betweenChunksMs} ms`
  }
}

type Reader = { read(): Promise<unknown>; cancel(): Promise<unknown> }

type Waiting = { readonly waits: AbortableWaits; readonly limits: StreamLimits }

/** A stream that never pauses must not block the event loop. */
const partsWithoutPause = 256

async function readAnswer(
  reader: Reader,
  request: ModelRequest,
  { waits, limits }: Waiting,
  onChunk: (chunk: StreamChunk) => void,
): Promise<AttemptEnd> {
  const { clock, redact } = request
  const builder = new MessageBuilder({
    newCallId: request.newCallId,
    transform: (chunk) => transformChunk(chunk, request.transformChunk ?? null),
  })
  let firstAt: number | null = null
  const told: Told = { usage: {}, warnings: [] }
  const end = (result: AttemptResult): AttemptEnd => {
    const { draft } = builder
    return { ...told, draft, firstAt, usage: draft.finish?.usage ?? told.usage, result }
  }
  const fail = (fault: Fault): AttemptEnd => end({ type: 'failed', fault: streamFault(fault, builder.hasBegun) })
  try {
    for (let count = 1; ; count++) {
      if (count % partsWithoutPause === 0) await new Promise((resolve) => setImmediate(resolve))
      const next = await waits.wait(() => reader.read())
      if (limits.passed !== null) return fail(tookTooLong(limits.passed))
      if (next.type === 'aborted') return end(next)
      if (next.type === 'error') return fail(faultOf(next.error, clock.now(), redact))
      const taken = take(next.value, builder, told, redact)
      if (taken === null) return fail(cutOff)
      if (taken instanceof TransformFailedError) return end({ type: 'transform_failed', error: taken })
      if ('error' in taken) return fail(faultOf(taken.error, clock.now(), redact))
      if (taken.isFromModel) limits.heard()
      if (firstAt === null && builder.hasBegun) firstAt = clock.now()
      if (taken.chunk) onChunk(taken.chunk)
      const { finish } = builder.draft
      if (finish) {
        const fault = faultIn(finish, redact)
        return fault ? fail(fault) : end({ type: 'complete' })
      }
    }
  } finally {
    releaseReader(reader)
  }
}

const cutOff = ownFault('model_unreachable', 'the stream ended without a finish')

function tookTooLong(what: string): Fault {
  return ownFault('model_timed_out', what)
}

/** What the provider tells beside its answer. */
type Told = { usage: Usage; warnings: readonly string[] }

/** Null at the end of the stream. An `error` part ends the message, because what follows it is unreliable. */
function take(read: unknown, builder: MessageBuilder, told: Told, redact: Redact) {
  try {
    if (!isRecord(read) || read['done'] === true) return null
    const part = read['value']
    const type = isRecord(part) ? part['type'] : null
    if (!isRecord(part) || type === null) return { chunk: null, isFromModel: true }
    if (type === 'error') return { error: part['error'] }
    if (type === 'raw') told.usage = readRawUsage(part['rawValue'], told.usage)
    if (type === 'stream-start') told.warnings = warningsOf(part['warnings'], redact)
    // The SDK sends the start by itself, before the provider has answered.
    return { chunk: builder.add(part), isFromModel: type !== 'stream-start' }
  } catch (error) {
    return error instanceof TransformFailedError ? error : { error }
  }
}

/** Some providers report a closed connection as a finish without a reason and without usage. */
function faultIn({ reason, raw, usage }: DraftFinish, redact: Redact): Fault | null {
  const isUnknown = raw === null && (reason === 'other' || reason === 'unknown') && Object.keys(usage).length === 0
  if (reason === 'interrupted' || isUnknown) return cutOff
  return reason === 'error'
    ? ownFault('model_failed', raw === null ? 'it finished with an error' : wordsOf(raw, redact))
    : null
}

/** More are of no use to a reader, and a provider decides how many there are. */
const mostWarnings = 20

function warningsOf(given: unknown, redact: Redact): string[] {
  if (!Array.isArray(given)) return []
  return given.slice(0, mostWarnings).map((warning) => wordsOf(warningText(warning), redact))
}

/** The specifications differ: `feature` or `setting`, `details` or `message`. */
function warningText(warning: unknown): string {
  if (!isRecord(warning)) return String(warning)
  const { type, feature, setting, details, message } = warning
  const texts = [type, feature ?? setting, details ?? message].filter((text) => typeof text === 'string' && text !== '')
  return texts.join(': ')
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
    // A rejection of it is ignored: returning a promise is itself the error.
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
