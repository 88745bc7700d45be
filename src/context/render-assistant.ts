import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { AssistantPart, ModelRef } from '../log/events.ts'
import type { AssistantItem, CallState } from '../log/state.ts'
import type { CallIds } from './call-ids.ts'
import { hostedPairs } from './hosted-pairs.ts'
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
}

/** Empty when there is nothing of the message to tell. */
export function renderAssistant(message: AssistantItem, rendering: MessageRendering): AssistantContent {
  const isWhole = message.status === 'complete' && !message.parts.some((part) => part.type === 'plain_call')
  // What only its maker can read goes back only to it, and only as part of what it made.
  const isReplayable = isWhole && message.model.provider === rendering.model.provider
  const hosted = isReplayable ? hostedPairs(message.parts, rendering) : new Set<string>()
  const content = message.parts.map((part) => renderPart(part, isReplayable, hosted, rendering))
  const told = content.flatMap((part, index) => (part && !isDangling(content, index) ? [part] : []))
  if (message.status !== 'complete') return message.parts.some(isSomething) ? [...told, note[message.status]] : []
  if (told.length === 0 || told.some((part) => part.type === 'text' || isOwnCall(part))) return told
  // Encoders leave out what they do not know of hosted calls, and a message must not become empty.
  return [...told, { type: 'text', text: '[no text]' }]
}

const note = {
  cancelled: { type: 'text', text: '[This message was cut off: the user cancelled it.]' },
  failed: { type: 'text', text: '[This message was cut off by an error.]' },
} as const

function isSomething(part: AssistantPart): boolean {
  return part.type === 'text' ? part.text.trim() !== '' : part.type !== 'source'
}

function isOwnCall(part: ContentPart): boolean {
  return part.type === 'tool-call' && !part.providerExecuted
}

/** Reasoning whose conclusion is not told: no provider takes it alone. */
function isDangling(content: readonly (ContentPart | null)[], index: number): boolean {
  if (content[index]?.type !== 'reasoning') return false
  return content.slice(index + 1).find((part) => part?.type !== 'reasoning' && part !== null) === undefined
}

function renderPart(
  part: AssistantPart,
  isReplayable: boolean,
  hosted: ReadonlySet<string>,
  { model, calls, callIds }: MessageRendering,
): ContentPart | null {
  const options = 'providerMetadata' in part && isReplayable ? providerOptions(part.providerMetadata) : {}
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? null : { type: 'text', text: part.text.toWellFormed(), ...options }
    case 'reasoning':
      return isReplayable ? { type: 'reasoning', text: part.text.toWellFormed(), ...options } : null
    case 'call': {
      const call = calls.find((candidate) => candidate.callId === part.callId)
      if (!call) return null
      const named = { toolCallId: callIds.of(call), toolName: toolName(call.name, model) }
      return { type: 'tool-call', ...named, input: toolInput(call.args), ...options }
    }
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
    case 'source':
    case 'plain_call':
      return null
  }
}

function providerOptions(metadata: unknown): { providerOptions?: Record<string, never> } {
  return metadata === undefined ? {} : { providerOptions: metadata as Record<string, never> }
}

/** One result for each call of the message, in their order. */
export function renderToolResults(
  message: AssistantItem,
  { model, calls, callIds }: MessageRendering,
  stubbed: Reduction['stubbed'],
): LanguageModelV4ToolResultPart[] {
  return message.parts.flatMap((part) => {
    const call = part.type === 'call' ? calls.find((candidate) => candidate.callId === part.callId) : undefined
    if (!call) return []
    const output = stubbed.has(call.callId) ? stubOutput : renderCallOutput(call)
    const named = { toolCallId: callIds.of(call), toolName: toolName(call.name, model) }
    return [{ type: 'tool-result' as const, ...named, output }]
  })
}

const stubOutput = {
  type: 'text' as const,
  value: '[an old result, left out to save room; call the tool again if you need it]',
}
