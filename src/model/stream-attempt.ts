import { TransformFailedError } from '../base/errors/model-errors.ts'
import type { Redact } from '../base/redact/redactor.ts'
import { UnlessAborted } from '../base/unless-aborted.ts'
import { isRecord } from '../base/untrusted.ts'
import type { LanguageModel } from '../define/language-model.ts'
import type { StreamChunk } from '../define/stream-chunk.ts'
import { callModel } from './call-model.ts'
import { type Fault, faultOf, ownFault, wordsOf } from './fault.ts'
import { MessageBuilder } from './message-builder.ts'
import { type DraftFinish, emptyDraft, type MessageDraft } from './message-draft.ts'
import type { ModelRequest } from './model-request.ts'
import { transformChunk } from './transform-chunk.ts'

/** What one request to one provider came to. The draft holds whatever had come. */
export type AttemptEnd = {
  readonly draft: MessageDraft
  /** When the first of it came. */
  readonly firstAt: number | null
  readonly result: AttemptResult
}

export type AttemptResult =
  | { readonly type: 'complete' }
  | { readonly type: 'aborted' }
  | { readonly type: 'failed'; readonly fault: Fault }
  | { readonly type: 'transform_failed'; readonly error: TransformFailedError }

/**
 * Reads one answer to its end. Never rejects for what a provider does, and ends at once when the signal is aborted, also when the provider
 * takes no notice: what it still sends is dropped.
 */
export async function streamAttempt(
  model: LanguageModel,
  request: ModelRequest,
  onChunk: (chunk: StreamChunk) => void,
): Promise<AttemptEnd> {
  const { signal, clock } = request
  const prompt = typeof request.prompt === 'function' ? request.prompt(model) : request.prompt
  const unlessAborted = new UnlessAborted(signal)
  try {
    const opening = callModel(model, prompt, request)
    const opened = await unlessAborted.wait(() => opening)
    if (opened.type === 'value') return await readAnswer(opened.value, request, unlessAborted, onChunk)
    opening.then(letGo, () => {})
    const result: AttemptResult =
      opened.type === 'aborted' ? opened : { type: 'failed', fault: faultOf(opened.error, clock.now(), request.redact) }
    return { draft: emptyDraft, firstAt: null, result }
  } finally {
    unlessAborted.stop()
  }
}

type Reader = { read(): Promise<unknown>; cancel(): Promise<unknown> }

/** A stream that never pauses must not keep the process from everything else. */
const partsWithoutPause = 256

async function readAnswer(
  reader: Reader,
  request: ModelRequest,
  unlessAborted: UnlessAborted,
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
    // Once something was shown, that it broke off matters more than why.
    return end({ type: 'failed', fault: builder.hasBegun ? { ...fault, code: 'model_interrupted' } : fault })
  }
  try {
    for (let count = 1; ; count++) {
      if (count % partsWithoutPause === 0) await new Promise((resolve) => setImmediate(resolve))
      const next = await unlessAborted.wait(() => reader.read())
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
    letGo(reader)
  }
}

const cutOff = ownFault('model_unreachable', 'the stream ended without a finish')

/** Null at the end of the stream. An `error` part ends the message: what a provider sends after one is not to be relied on. */
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

/** Nothing waits for a provider to stop, and nothing it says then matters. */
function letGo(reader: Reader): void {
  const cancel = async (): Promise<unknown> => reader.cancel()
  cancel().catch(() => {})
}
