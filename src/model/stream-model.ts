import type { PerdureError } from '../base/errors/perdure-error.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { pause } from '../base/unless-aborted.ts'
import { modelRef } from '../define/language-model.ts'
import type { StreamChunk } from '../define/stream-chunk.ts'
import type { ModelRef, Usage } from '../log/events.ts'
import {
  callsOf,
  emptyDraft,
  hasBegun,
  type MessageDraft,
  type MessagePart,
  partsOf,
  type RawCall,
} from './message-draft.ts'
import { type ModelFault, modelError } from './model-error.ts'
import type { ModelRequest } from './model-request.ts'
import { decideRetry } from './retry-policy.ts'
import { type AttemptEnd, streamAttempt } from './stream-attempt.ts'

/** What a model call came to. All of it but the bytes of generated files is plain JSON. */
export type ModelMessage = {
  /** In stream order; a `call` part carries our `callId`. */
  readonly parts: readonly MessagePart[]
  /** The calls of our own tools that came whole. Nothing in them is parsed or checked. */
  readonly calls: readonly RawCall[]
  /** Who answered; of those that did not, the last one tried. */
  readonly model: ModelRef
  readonly usage: Usage
  readonly finishReason: string
  readonly status: 'complete' | 'failed' | 'aborted'
  /** Why it failed. */
  readonly error?: PerdureError
}

/**
 * Makes one model call. Tries again, and then with the next model, only while nothing has come of the answer; after that a failure keeps
 * what there is. Never rejects for what a provider does; returns at once when the signal is aborted. `onChunk` must not throw.
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
      if (!(await pause(delayMs, clock, signal))) return message(model, emptyDraft, 'aborted')
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
