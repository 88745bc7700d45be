import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import { callPosition } from '../../log/call-position.ts'
import type { AssistantPart, ModelRef } from '../../log/events.ts'
import type { AssistantItem, CallState } from '../../log/state.ts'
import type { CallIds } from './call-ids.ts'
import { hostedPairs, noPairs } from './hosted-pairs.ts'
import { ownCopy } from './own-copy.ts'
import type { Reduction } from './reduction.ts'
import { renderCallOutput } from './render-call-output.ts'
import { toolInput, toolName } from './tool-name.ts'
import { wellFormed } from './well-formed.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type ContentPart = AssistantContent[number]

type MessageRendering = {
  readonly model: ModelRef
  readonly calls: readonly CallState[]
  readonly callIds: CallIds
  readonly stubbed: Reduction['stubbed']
}

type Rendered = {
  /** Empty when there is nothing of the message to tell. */
  readonly content: AssistantContent
  /** One for each call of the message, in their order. */
  readonly results: LanguageModelV4ToolResultPart[]
}

export function renderAssistant(message: AssistantItem, rendering: MessageRendering): Rendered {
  const isWhole = message.status === 'complete' && !message.parts.some((part) => part.type === 'plain_call')
  // What only its maker can read goes back only to it, and only as part of what it made.
  const isReplayable = isWhole && message.model.provider === rendering.model.provider
  const hosted = isReplayable ? hostedPairs(message.parts, rendering) : noPairs
  const told: ContentPart[] = []
  const results: LanguageModelV4ToolResultPart[] = []
  for (const part of message.parts) {
    const call = part.type === 'call' ? rendering.calls[callPosition(rendering.calls, part.callId)] : null
    const rendered = call
      ? renderCall(call, providerOptions(part, isReplayable), rendering, results)
      : renderPart(part, isReplayable, hosted)
    if (rendered) told.push(rendered)
  }
  // Reasoning whose conclusion is not told: no provider takes it alone.
  while (told.at(-1)?.type === 'reasoning') told.pop()
  return { content: legalContent(message, told), results }
}

function legalContent(message: AssistantItem, told: AssistantContent): AssistantContent {
  if (message.status !== 'complete')
    return message.parts.some(isSomething) ? [...told, { type: 'text', text: note[message.status] }] : []
  if (told.length === 0 || told.some((part) => part.type === 'text' || isOwnCall(part))) return told
  // Encoders leave out what they do not know of hosted calls, and a message must not become empty.
  return [...told, { type: 'text', text: '[no text]' }]
}

const note = {
  cancelled: '[This message was cut off: the user cancelled it.]',
  failed: '[This message was cut off by an error.]',
} as const

function isSomething(part: AssistantPart): boolean {
  return part.type === 'text' ? part.text.trim() !== '' : part.type !== 'source'
}

function isOwnCall(part: ContentPart): boolean {
  return part.type === 'tool-call' && !part.providerExecuted
}

function renderCall(
  call: CallState,
  options: ProviderOptions,
  { model, callIds, stubbed }: MessageRendering,
  results: LanguageModelV4ToolResultPart[],
): ContentPart {
  const toolCallId = callIds.take(call)
  const name = toolName(call.name, model)
  const output = stubbed.has(call.callId) ? { ...stubOutput } : renderCallOutput(call)
  results.push({ type: 'tool-result', toolCallId, toolName: name, output })
  return { type: 'tool-call', toolCallId, toolName: name, input: toolInput(call.args), ...options }
}

function renderPart(part: AssistantPart, isReplayable: boolean, hosted: ReadonlySet<string>): ContentPart | null {
  const options = providerOptions(part, isReplayable)
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? null : { type: 'text', text: part.text.toWellFormed(), ...options }
    case 'reasoning':
      return isReplayable ? { type: 'reasoning', text: part.text.toWellFormed(), ...options } : null
    case 'provider_call': {
      if (!hosted.has(part.providerCallId)) return null
      const named = { toolCallId: part.providerCallId, toolName: part.name }
      return { type: 'tool-call', ...named, input: toolInput(part.args), providerExecuted: true, ...options }
    }
    case 'provider_result': {
      if (!hosted.has(part.providerCallId)) return null
      const named = { toolCallId: part.providerCallId, toolName: part.name }
      const type = part.isError ? 'error-json' : 'json'
      return { type: 'tool-result', ...named, output: { type, value: wellFormed(part.result) as never }, ...options }
    }
    case 'file':
      return { type: 'text', text: `[a file of type ${part.mediaType.toWellFormed()} was made here]` }
    // A fork may begin between a message and its calls.
    case 'call':
    case 'source':
    case 'plain_call':
      return null
  }
}

type ProviderOptions = { readonly providerOptions: Record<string, never> } | null

function providerOptions(part: AssistantPart, isReplayable: boolean): ProviderOptions {
  const metadata = isReplayable && 'providerMetadata' in part ? part.providerMetadata : undefined
  return metadata === undefined ? null : { providerOptions: ownCopy(metadata) as Record<string, never> }
}

const stubOutput = {
  type: 'text' as const,
  value: '[an old result, left out to save room; call the tool again if you need it]',
}
