import type { ChunkTransformer, StreamChunk } from '../../src/define/language-model.ts'
import { MessageBuilder } from '../../src/model/message-builder.ts'
import { callsOf, partsOf } from '../../src/model/message-draft.ts'
import { transformChunk } from '../../src/model/stream-attempt.ts'

/** The message that a model's stream makes, with ids in the order they were asked for. */
export function build(stream: readonly unknown[], transformer: ChunkTransformer | null = null) {
  let calls = 0
  const chunks: StreamChunk[] = []
  const builder = new MessageBuilder({
    newCallId: () => `c${++calls}`,
    transform: (chunk) => transformChunk(chunk, transformer),
  })
  for (const part of stream) {
    const chunk = builder.add(part)
    if (chunk) chunks.push(chunk)
  }
  const { draft } = builder
  return { draft, chunks, parts: partsOf(draft), calls: callsOf(draft) }
}

type Kind = 'text' | 'reasoning'

export function start(kind: Kind, id: string, providerMetadata?: unknown) {
  return { type: `${kind}-start`, id, providerMetadata }
}

export function delta(kind: Kind, id: string, text: string, providerMetadata?: unknown) {
  return { type: `${kind}-delta`, id, delta: text, providerMetadata }
}

export function end(kind: Kind, id: string, providerMetadata?: unknown) {
  return { type: `${kind}-end`, id, providerMetadata }
}

export function cyclic(): object {
  const value: Record<string, unknown> = {}
  value['self'] = value
  value['data'] = value
  return value
}
