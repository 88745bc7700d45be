import { pause } from '../base/abort.ts'
import type { PerdureError } from '../base/errors/perdure-error.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { modelRef, type StreamChunk } from '../define/language-model.ts'
import type { ModelRef, Usage } from '../log/events.ts'
import type { ModelRequest } from './call-model.ts'
import { decideRetry, type ModelFault, modelError } from './fault.ts'
import {
  callsOf,
  emptyDraft,
  hasBegun,
  type MessagePart,
  partsOf,
  type RawCall,
  wasRunByHost,
} from './message-draft.ts'
import { type AttemptEnd, streamAttempt } from './stream-attempt.ts'

/** The outcome of a model call. Everything except the bytes of generated files is plain JSON. */
export type ModelMessage = {
  /** In stream order. A `call` part has Perdure's `callId`. */
  readonly parts: readonly MessagePart[]
  /** Complete calls of the agent's own tools. Not parsed or checked yet. */
  readonly calls: readonly RawCall[]
  /** The model that answered, or the last one tried. */
  readonly model: ModelRef
  /** Of the attempt that this message is from. */
  readonly usage: Usage
  readonly finishReason: string
  readonly status: 'complete' | 'failed' | 'aborted'
  /** Why it failed. */
  readonly error?: PerdureError
}

/**
 * Makes one model call. A failed attempt is repeated, and then made with the next model, even if its stream breaks off: `onDiscard` says that what arrived of
 * it is void. Two things are never tried again: a message in which the model's host has run a call, and one that `transformChunk` refused. The last attempt
 * keeps what arrived. Never rejects for a provider's error; returns at once when the signal aborts. `onChunk` must not throw.
 */
export async function streamModel(request: ModelRequest, onChunk: (chunk: StreamChunk) => void): Promise<ModelMessage> {
  const { signal, clock } = request
  if (request.models.length === 0) throw new InvalidArgumentError('models', 'must have at least one')
  const faults: ModelFault[] = []
  for (const [index, candidate] of request.models.entries()) {
    const model = modelRef(candidate)
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) return message(model, nothing, 'aborted')
      const startedAt = clock.now()
      const ended = await streamAttempt(candidate, request, onChunk)
      const { draft, firstAt, usage, warnings, result } = ended
      const error = errorOf(model, result)
      request.onAttempt?.({
        model,
        attempt,
        status: reportStatus[result.type],
        latencyMs: clock.now() - startedAt,
        timeToFirstTokenMs: firstAt === null ? null : firstAt - startedAt,
        usage,
        warnings,
        ...(error ? { error: error.message } : {}),
      })
      if (result.type === 'complete' || result.type === 'aborted') return message(model, ended, result.type)
      if (result.type === 'transform_failed') return { ...message(model, ended, 'failed'), error: error! }
      const { fault } = result
      const isFinal = wasRunByHost(draft)
      const delayMs = isFinal ? null : decideRetry(fault, attempt, request.retry, request.random ?? Math.random)
      const isRefused = fault.code === 'model_rate_limited' && !hasBegun(draft)
      if (isRefused && request.onRateLimited?.({ retryAfterMs: fault.retryAfterMs, delayMs }))
        return message(model, nothing, 'aborted')
      if (delayMs === null) faults.push({ model, fault })
      const isLast = delayMs === null && (isFinal || index === request.models.length - 1)
      if (isLast) return { ...message(model, ended, 'failed'), error: modelError(faults) }
      if (hasBegun(draft) || Object.keys(usage).length > 0) request.onDiscard?.({ model, usage, code: fault.code })
      if (delayMs === null) break
      if (!(await pause(delayMs, { clock, signal }))) return message(model, nothing, 'aborted')
    }
  }
  throw new Error('every model was tried, and none was the last')
}

const nothing = { draft: emptyDraft, usage: {} }

const reportStatus = { complete: 'ok', aborted: 'cancelled', failed: 'failed', transform_failed: 'failed' } as const

function errorOf(model: ModelRef, result: AttemptEnd['result']): PerdureError | null {
  if (result.type === 'transform_failed') return result.error
  return result.type === 'failed' ? modelError([{ model, fault: result.fault }]) : null
}

function message(
  model: ModelRef,
  { draft, usage }: Pick<AttemptEnd, 'draft' | 'usage'>,
  status: ModelMessage['status'],
): ModelMessage {
  const cutReason = { complete: 'other', failed: 'error', aborted: 'aborted' }[status]
  return {
    parts: partsOf(draft),
    calls: callsOf(draft),
    model,
    usage,
    finishReason: draft.finish?.reason ?? cutReason,
    status,
  }
}
