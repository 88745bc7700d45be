import * as ai7 from 'ai'
import * as ai6 from 'ai-6'
import type { JsonObject } from '../../src/base/json.ts'
import type { ClientMessage } from '../../src/server/ui/client-message.ts'
import type { UiChunk } from '../../src/server/ui/ui-turn.ts'

export type Sdk = 'v6' | 'v7'

/** What the real client makes of chunks, beginning with what it has. Throws where the client would. */
export async function assemble(
  sdk: Sdk,
  chunks: readonly UiChunk[],
  held: ClientMessage | null = null,
): Promise<ClientMessage> {
  const checked = await Promise.all(chunks.map((chunk) => validated(sdk, chunk)))
  const shown = checked.filter(({ type }) => type !== 'error')
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of shown) controller.enqueue(chunk)
      controller.close()
    },
  })
  const message = held ? structuredClone(held) : undefined
  const read = sdkOf(sdk).readUIMessageStream as (options: object) => AsyncIterable<ClientMessage>
  let last: ClientMessage | null = held
  const options = { stream, terminateOnError: true, ...(message ? { message } : {}) }
  for await (const state of read(options)) last = state
  if (!last) throw new Error('nothing is shown')
  // As it goes over the wire.
  return JSON.parse(JSON.stringify(last)) as ClientMessage
}

/** Whether a page sends the message by itself that it was left with. */
export function wouldSend(sdk: Sdk, message: ClientMessage): boolean {
  const chat = { messages: [message] as never }
  const { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } =
    sdkOf(sdk)
  return lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat)
}

function sdkOf(sdk: Sdk): typeof ai7 {
  return (sdk === 'v6' ? ai6 : ai7) as typeof ai7
}

/** The chunks of the first version 6, which end a client at any other member. */
const firstV6: Readonly<Record<string, readonly string[]>> = {
  start: ['messageId', 'messageMetadata'],
  'start-step': [],
  'finish-step': [],
  'text-start': ['id', 'providerMetadata'],
  'text-delta': ['id', 'delta', 'providerMetadata'],
  'text-end': ['id', 'providerMetadata'],
  'reasoning-start': ['id', 'providerMetadata'],
  'reasoning-delta': ['id', 'delta', 'providerMetadata'],
  'reasoning-end': ['id', 'providerMetadata'],
  'tool-input-start': ['toolCallId', 'toolName', 'providerExecuted'],
  'tool-input-delta': ['toolCallId', 'inputTextDelta'],
  'tool-input-available': ['toolCallId', 'toolName', 'input', 'providerExecuted', 'providerMetadata'],
  'tool-input-error': ['toolCallId', 'toolName', 'input', 'providerExecuted', 'providerMetadata', 'errorText'],
  'tool-approval-request': ['approvalId', 'toolCallId'],
  'tool-output-available': ['toolCallId', 'output', 'providerExecuted'],
  'tool-output-error': ['toolCallId', 'errorText', 'providerExecuted'],
  'tool-output-denied': ['toolCallId'],
  'source-url': ['sourceId', 'url', 'title'],
  'source-document': ['sourceId', 'mediaType', 'title', 'filename'],
  file: ['url', 'mediaType'],
  'data-question': ['id', 'data'],
  'data-progress': ['id', 'data', 'transient'],
  'data-child-question': ['id', 'data', 'transient'],
  'message-metadata': ['messageMetadata'],
  finish: ['finishReason', 'messageMetadata'],
  abort: [],
  error: ['errorText'],
}

async function validated(sdk: Sdk, chunk: UiChunk): Promise<UiChunk> {
  const { type, ...members } = chunk
  const isKnown = Object.keys(members).every((name) => firstV6[type]?.includes(name))
  if (sdk === 'v6' && !(type in firstV6 && isKnown)) throw new Error(`not of the first v6: ${JSON.stringify(chunk)}`)
  const { validate } = sdkOf(sdk).uiMessageChunkSchema() as unknown as Schema
  const verdict = await validate!(JSON.parse(JSON.stringify(chunk)))
  if (!verdict.success) throw new Error(`${sdk} does not know ${JSON.stringify(chunk)}`)
  return verdict.value
}

type Schema = { validate?(value: unknown): Promise<{ success: true; value: UiChunk } | { success: false }> }

/**
 * Without what the protocol has no word for: how an approval was answered (version 6), the text an input was read from, and the
 * ids and inputs of calls that were never made.
 */
export function essence(message: ClientMessage & { metadata?: JsonObject }, hasApprovals = false): object {
  const { id, role, parts, metadata = {} } = message
  return { id, role, metadata, parts: parts.flatMap((part) => essenceOf(part, hasApprovals)) }
}

function essenceOf(part: JsonObject, hasApprovals: boolean): JsonObject[] {
  const { rawInput: _, ...kept } = part
  const errorText = String(part['errorText'] ?? '')
  if (errorText.startsWith('The model stopped before this call')) return []
  if (errorText.startsWith('This call was not made')) return [{ type: part['type']!, errorText }]
  const approval = part['approval'] as JsonObject | undefined
  return [approval && !hasApprovals ? { ...kept, approval: { id: approval['id']! } } : kept]
}
