import { encode } from '../src/log/codec.ts'
import type { NewEvent } from '../src/log/events.ts'

/** A typical model message: about 400 bytes of content, and nothing that wakes a process. */
export function sampleEvent(n: number): NewEvent {
  return {
    type: 'assistant_msg',
    content: {
      turnId: `turn-${n}`,
      messageId: `0198d4a2-7c1e-7000-8000-${String(n).padStart(12, '0')}`,
      seen: n,
      parts: [{ type: 'text', text: `Answer ${n}: ${'the order was shipped on Monday. '.repeat(6)}` }],
      model: { provider: 'bench', modelId: 'model-1' },
      usage: { inputTokens: 1200, outputTokens: 60 },
      finishReason: 'stop',
      status: 'complete',
    },
  }
}

/** The row of the event, given to the raw drivers so that both write the same bytes. */
export function sampleRow(n: number): { readonly type: string; readonly content: string } {
  const { type, content } = sampleEvent(n)
  return { type, content: encode(content) }
}
