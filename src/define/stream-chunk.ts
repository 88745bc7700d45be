/**
 * What is shown of a message while it is written. Closed union. `id` names a block of text or reasoning within its message, `callId` is
 * ours. A call that came in one piece has one chunk with all of its input.
 */
export type StreamChunk =
  | { readonly type: 'text_delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'reasoning_delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool_input_delta'; readonly callId: string; readonly name: string; readonly delta: string }

/** May change the `delta` of a chunk; whatever it returns that is not that chunk any more drops it. */
export type ChunkTransformer = (chunk: StreamChunk) => unknown
