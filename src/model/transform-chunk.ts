import { TransformFailedError } from '../base/errors/model-errors.ts'
import { isRecord } from '../base/untrusted.ts'
import type { ChunkTransformer, StreamChunk } from '../define/stream-chunk.ts'

/**
 * The one call site of the stream transformer. Null drops the chunk: it was turned into something unknown, or emptied. Only `delta` may
 * change, because what a chunk belongs to is decided by the stream.
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
    throw new TransformFailedError(cause)
  }
  return isRecord(result) && nameOf(result) === nameOf(chunk) ? result : {}
}

function nameOf(chunk: { readonly [key: string]: unknown }): string {
  return JSON.stringify([chunk['type'], chunk['id'], chunk['callId'], chunk['name']])
}
