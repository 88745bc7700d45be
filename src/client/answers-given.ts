import type { ChatMessage, Chunk } from './shown-message.ts'

type ToolPart = {
  readonly type: string
  readonly toolCallId: string
  readonly state: string
  readonly approval?: { readonly id: string; readonly approved?: boolean }
}

/**
 * The answers that a page has given to calls, and which of them the server has taken. A page shows outputs of the server
 * and its own in the same way, so both are remembered.
 */
export class AnswersGiven {
  readonly #taken = new Set<string>()
  readonly #outputs = new Set<string>()

  /** The server sent it. */
  told({ type, toolCallId }: Chunk): void {
    if (type.startsWith('tool-output-') && typeof toolCallId === 'string') this.#outputs.add(toolCallId)
  }

  /** The server sent all of it. */
  received(message: ChatMessage): void {
    for (const { toolCallId, state } of message.parts.filter(isCall)) {
      if (state.startsWith('output-')) this.#outputs.add(toolCallId)
    }
  }

  /** The server has taken what the page says about its calls. */
  sent(message: ChatMessage): void {
    for (const answer of this.#answersIn(message)) this.#taken.add(answer)
  }

  /** Whether the newest message has an answer that the server does not know. */
  hasUnsent(message: ChatMessage | undefined): boolean {
    if (message?.role !== 'assistant') return false
    const { status = 'waiting' } = Object(message.metadata) as { readonly status?: unknown }
    return status === 'waiting' && this.#answersIn(message).some((answer) => !this.#taken.has(answer))
  }

  #answersIn(message: ChatMessage): string[] {
    return newestCalls(message).flatMap(({ toolCallId, state, approval }) => {
      if (state === 'approval-responded') return [`${approval?.id}/${approval?.approved}`]
      const isOwn = (state === 'output-available' || state === 'output-error') && !this.#outputs.has(toolCallId)
      return isOwn ? [`${toolCallId}/${state}`] : []
    })
  }
}

/** Whether the newest step still asks for an approval. */
export function isAsking(message: ChatMessage): boolean {
  return newestCalls(message).some(({ state }) => state === 'approval-requested')
}

function newestCalls({ parts }: ChatMessage): ToolPart[] {
  const first = parts.findLastIndex(({ type }) => type === 'step-start')
  return parts.slice(first + 1).filter(isCall)
}

function isCall(part: { readonly type: string }): part is ToolPart {
  const { toolCallId, state } = part as Partial<ToolPart>
  return typeof toolCallId === 'string' && typeof state === 'string'
}
