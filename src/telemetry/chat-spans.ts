import type { EventOf, LogEvent, ModelRef, Usage } from '../log/events.ts'
import type { ModelCall } from '../store/records.ts'
import { contentOf, messageText } from './content.ts'
import { attributes as names, operations, plainName } from './names.ts'
import { type SpanAttributes, type SpanRecord, spanOf } from './span-record.ts'

type Message = EventOf<'assistant_msg'>

type Chats = {
  readonly turnId: string
  readonly messages: readonly Message[]
  readonly rows: readonly ModelCall[]
  readonly events: readonly LogEvent[]
  readonly content: boolean
  readonly common: SpanAttributes
  /** The hook that did not pass a message, by the message's id. */
  readonly withheld: ReadonlyMap<string, string>
}

type Found = { readonly seq: number; readonly span: SpanRecord }

/** One span for each request to a model provider, where the audit knows them; else one for each message. Each with the seq of its message. */
export function chatSpans(chats: Chats): Found[] {
  const { messages, events, withheld } = chats
  const rows = chats.rows.filter(({ turnRef }) => turnRef.startsWith(`${chats.turnId}/`))
  const found: Found[] = []
  let next = 0
  for (const message of messages) {
    const from = next
    while (rows[next] && rows[next]!.at <= message.at) if (rows[next++]!.status === 'ok') break
    const attempts = rows.slice(from, next)
    const { seq, at, content } = message
    attempts.forEach((row, index) => {
      found.push({ seq, span: attemptSpan(row, index === attempts.length - 1 ? message : null, chats) })
    })
    if (attempts.length === 0) found.push({ seq, span: messageSpan(message, events, chats) })
    const hook = withheld.get(content.messageId)
    if (hook !== undefined) found.push({ seq, span: judgement(hook, attempts.at(-1)?.at ?? at, at, chats) })
  }
  return found
}

/** `message`: what came of it; null when another attempt followed. */
function attemptSpan(row: ModelCall, message: Message | null, chats: Chats): SpanRecord {
  const { provider, modelId, attempt } = Object(row.model) as Record<string, unknown>
  const ref = { provider: String(provider ?? ''), modelId: String(modelId ?? '') }
  const timing = { [names.timing]: 'audit', [names.attempt]: typeof attempt === 'number' ? attempt : 1 }
  return spanOf({
    ...chat(ref, usageIn(row.usage), message, chats, timing),
    startAt: row.at - (row.latencyMs ?? 0),
    endAt: row.at,
    error: row.status === 'failed' ? 'model_failed' : null,
  })
}

/** From the event that its prompt ends with to its own: no more is known without an audit. */
function messageSpan(message: Message, events: readonly LogEvent[], chats: Chats): SpanRecord {
  const { model, usage, seen, status } = message.content
  const seenAt = events.findLast(({ seq }) => seq <= seen)?.at ?? message.at
  return spanOf({
    ...chat(model, usage, message, chats, { [names.timing]: 'log' }),
    startAt: seenAt,
    endAt: message.at,
    error: status === 'failed' ? 'model_failed' : null,
  })
}

function chat(
  { provider, modelId }: ModelRef,
  usage: Usage,
  message: Message | null,
  { common, content, withheld }: Chats,
  more: SpanAttributes,
): Pick<SpanRecord, 'operation' | 'name' | 'kind' | 'attributes'> {
  const name = plainName(modelId)
  const isShown = message && !withheld.has(message.content.messageId)
  const attributes = {
    ...{ ...common, [names.provider]: plainName(provider), [names.requestModel]: name },
    ...(message
      ? { [names.responseModel]: name, [names.finishReasons]: [plainName(message.content.finishReason)] }
      : {}),
    ...usageAttributes(usage),
    ...more,
    ...contentOf(content, { [names.outputMessages]: isShown ? messageText('assistant', message.content.parts) : null }),
  }
  return { operation: operations.model, name, kind: 'client', attributes }
}

/** A post-hook decides between the end of the stream and the commit of the message. */
function judgement(hook: string, startAt: number, endAt: number, { common }: Chats): SpanRecord {
  const attributes = { ...common, [names.hook]: plainName(hook), [names.status]: 'withheld', [names.timing]: 'log' }
  return spanOf({ operation: operations.hook, name: plainName(hook), startAt, endAt, attributes })
}

function usageAttributes(usage: Usage): SpanAttributes {
  const counted = {
    [names.inputTokens]: usage.inputTokens,
    [names.outputTokens]: usage.outputTokens,
    [names.cacheReadTokens]: usage.cacheReadTokens,
    [names.cacheCreationTokens]: usage.cacheWriteTokens,
  }
  return Object.fromEntries(Object.entries(counted).filter(([, tokens]) => isCount(tokens))) as SpanAttributes
}

function usageIn(usage: unknown): Usage {
  return Object(usage) as Usage
}

function isCount(tokens: unknown): boolean {
  return typeof tokens === 'number' && Number.isFinite(tokens)
}
