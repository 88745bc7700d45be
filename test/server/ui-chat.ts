import * as ai7 from 'ai'
import * as ai6 from 'ai-6'
import type { PerdureTransport } from '../../src/client/index.ts'
import type { Sdk } from './ui-assemble.ts'

/** A part of a UI message, as far as tests look at it. */
export type Part = {
  readonly type: string
  readonly text?: string
  readonly state?: string
  readonly toolCallId?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly errorText?: string
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string }
  readonly data?: Record<string, unknown>
  readonly providerMetadata?: unknown
  readonly url?: string
}

export type Message = {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly metadata?: {
    readonly status?: string
    readonly reason?: string
    readonly finishReason?: string
    readonly variants?: number
  }
  readonly parts: readonly Part[]
}

/** What both versions of the chat have. */
export type Chat = {
  readonly id: string
  messages: Message[]
  readonly status: 'submitted' | 'streaming' | 'ready' | 'error'
  readonly error: Error | undefined
  sendMessage(message?: { text: string; messageId?: string } | { parts: object[] }): Promise<void>
  regenerate(): Promise<void>
  resumeStream(): Promise<void>
  stop(): Promise<void>
  addToolApprovalResponse(answer: { id: string; approved: boolean; reason?: string }): Promise<void>
  addToolOutput(answer: AddedOutput): Promise<void>
}

type AddedOutput = { tool: string; toolCallId: string; output?: unknown; state?: 'output-error'; errorText?: string }

export type ChatOptions = {
  readonly api: string
  readonly id?: string
  readonly messages?: readonly Message[]
  readonly body?: object
  readonly fetch?: typeof globalThis.fetch
  readonly onData?: (part: { type: string; data: unknown }) => void
  /** Default: the SDK's own. */
  readonly transport?: PerdureTransport
  readonly onToolCall?: (call: { toolCall: { toolName: string; toolCallId: string; input: unknown } }) => void
}

/** A chat of the real package over its own transport, that sends by itself whenever everything was answered. */
export function createChat(sdk: Sdk, options: ChatOptions): Chat {
  const { api, id = 'c', messages = [], body, fetch, onData, onToolCall, transport } = options
  const ai = (sdk === 'v6' ? ai6 : ai7) as typeof ai7
  class PlainChat extends ai.AbstractChat<ai7.UIMessage> {}
  const state = {
    status: 'ready' as const,
    error: undefined,
    messages: [...messages] as unknown as ai7.UIMessage[],
    pushMessage(message: ai7.UIMessage) {
      state.messages = [...state.messages, message]
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1)
    },
    replaceMessage(index: number, message: ai7.UIMessage) {
      state.messages = state.messages.with(index, structuredClone(message))
    },
    snapshot: <T>(thing: T): T => structuredClone(thing),
  }
  const usual = new ai.DefaultChatTransport({ api, ...(body ? { body } : {}), ...(fetch ? { fetch } : {}) })
  return new PlainChat({
    id,
    state,
    transport: transport ?? usual,
    sendAutomaticallyWhen: (chat) =>
      transport?.sendAutomaticallyWhen(chat) ??
      (ai.lastAssistantMessageIsCompleteWithApprovalResponses(chat) ||
        ai.lastAssistantMessageIsCompleteWithToolCalls(chat)),
    ...(onData ? { onData } : {}),
    ...(onToolCall ? { onToolCall } : {}),
  } as ConstructorParameters<typeof PlainChat>[0]) as unknown as Chat
}

export function lastMessage({ messages }: Pick<Chat, 'messages'>): Message {
  const last = messages.at(-1)
  if (!last) throw new Error('the chat has no messages')
  return last
}

export function partsOf(message: Message, type: string): Part[] {
  return message.parts.filter((part) => part.type === type)
}

export function textOf(message: Message): string {
  return partsOf(message, 'text')
    .map(({ text }) => text)
    .join('|')
}

export async function messagesOf(api: string, id = 'c'): Promise<Message[]> {
  return messagesFrom(`${api}/${id}/messages`)
}

/** What a page begins with: the stream that it resumes brings the rest. */
export async function endedMessagesOf(api: string, id = 'c'): Promise<Message[]> {
  return messagesFrom(`${api}/${id}/messages?open=false`)
}

async function messagesFrom(url: string): Promise<Message[]> {
  const answer = await fetch(url)
  return ((await answer.json()) as { messages: Message[] }).messages
}

export async function cancel(api: string, id = 'c'): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${api}/${id}/cancel`, { method: 'POST', headers, body: '{}' })
  return answer.json()
}
