import type { Message } from '@ag-ui/core'
import type { JsonObject } from '../../base/json.ts'
import { isBlobRef } from '../../log/blob-ref.ts'
import type { UserMessage, UserPart } from '../../log/events.ts'
import type { TurnRecord } from '../../runtime/read/history.ts'
import type { View } from '../../view/view.ts'
import type { UiCall, UiStep } from '../ui/ui-turn.ts'
import { type FileUrl, uiTurnFrom, userMessageId } from '../ui/ui-turn-of.ts'
import { resultId, textId } from './ag-ui-event.ts'
import { isShown, resultOf } from './sent-turn.ts'

/** The messages of a thread from the log. Of the turn that is streamed, only what people said. */
export function threadMessages(
  turns: readonly TurnRecord[],
  view: Pick<View, 'conversationId' | 'phase'>,
  { streamed, fileUrl }: { readonly streamed: string; readonly fileUrl: FileUrl },
): Message[] {
  return turns.flatMap(({ turn, said }): Message[] => {
    const users = said.map((user) => userMessage(userMessageId(user), user.message, view.conversationId, fileUrl))
    if (turn.turnId === streamed) return users
    const shown = uiTurnFrom(turn, view, fileUrl)
    return [...users, ...(shown?.steps ?? []).flatMap(stepMessages)]
  })
}

function stepMessages({ messageId, parts }: UiStep): Message[] {
  const calls = parts.filter((part) => part.kind === 'call').filter(isShown)
  const toolCalls = calls.map(({ key, name, input }) => ({
    id: key,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }))
  const messages: Message[] = []
  for (const part of parts) {
    if ((part.kind !== 'text' && part.kind !== 'reasoning') || part.text === '') continue
    const [id, content] = [textId(messageId, part.key), part.text]
    if (part.kind === 'reasoning') messages.push({ id, role: 'reasoning', content })
    else
      messages.push({ id, role: 'assistant', content, ...(id === messageId && toolCalls.length > 0 && { toolCalls }) })
  }
  const hasText = messages.some(({ id }) => id === messageId)
  if (!hasText && toolCalls.length > 0) messages.push({ id: messageId, role: 'assistant', toolCalls })
  return [...messages, ...calls.flatMap(toolMessage)]
}

function toolMessage(call: UiCall): Message[] {
  const result = resultOf(call)
  if (!result) return []
  const { content, status } = result
  const failed = status === undefined ? {} : { error: content }
  return [{ id: resultId(call.key), role: 'tool', toolCallId: call.key, content, ...failed }]
}

function userMessage(id: string, { parts }: UserMessage, conversationId: string, fileUrl: FileUrl): Message {
  const [first] = parts
  if (parts.length === 1 && first?.type === 'text') return { id, role: 'user', content: first.text }
  return { id, role: 'user', content: parts.map((part) => contentPart(part, conversationId, fileUrl)) as never }
}

function contentPart(part: UserPart, conversationId: string, fileUrl: FileUrl): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { mediaType, data } = part
  const [kind = ''] = mediaType.split('/', 1)
  const type = ['image', 'audio', 'video'].includes(kind) ? kind : 'document'
  const value = isBlobRef(data) ? fileUrl(conversationId, data.blob) : data
  return { type, source: { type: 'url', value, mimeType: mediaType } }
}
