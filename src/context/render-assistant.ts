import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { AssistantPart, ModelRef } from '../log/events.ts'
import type { AssistantItem, CallState } from '../log/state.ts'
import { renderCallOutput } from './render-call-output.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type ContentPart = AssistantContent[number]

/** The id a call carries in one prompt: the provider's, unless that was used before or is not one every provider takes; then ours. */
export class CallIds {
  readonly #used = new Set<string>()
  readonly #byCall = new Map<string, string>()

  of(call: { readonly callId: string; readonly providerCallId: string }): string {
    const known = this.#byCall.get(call.callId)
    if (known) return known
    const isUsable = /^[a-zA-Z0-9_-]{1,64}$/.test(call.providerCallId) && !this.#used.has(call.providerCallId)
    const id = isUsable ? call.providerCallId : call.callId
    this.#used.add(id)
    this.#byCall.set(call.callId, id)
    return id
  }
}

/** Empty when nothing of the message is to be rendered. */
export function renderAssistant(
  message: AssistantItem,
  calls: readonly CallState[],
  { model }: { readonly model: ModelRef },
  callIds: CallIds,
): AssistantContent {
  const isOwn = message.model.provider === model.provider
  const isComplete = message.status === 'complete'
  const content = message.parts.flatMap((part) => renderPart(part, message, calls, callIds, isOwn && isComplete))
  if (!content.some((part) => part.type !== 'reasoning')) return []
  if (!isComplete) content.push({ type: 'text', text: cutOffNote[message.status] })
  return content
}

const cutOffNote = {
  complete: '',
  cancelled: '[This message was cut off: the user cancelled it.]',
  failed: '[This message was cut off by an error.]',
}

/** `isReplayable`: parts that only the provider that made them takes back, and only whole. */
function renderPart(
  part: AssistantPart,
  message: AssistantItem,
  calls: readonly CallState[],
  callIds: CallIds,
  isReplayable: boolean,
): ContentPart[] {
  const options = 'providerMetadata' in part && isReplayable ? providerOptions(part.providerMetadata) : {}
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text, ...options }]
    case 'reasoning':
      return isReplayable ? [{ type: 'reasoning', text: part.text, ...options }] : []
    case 'call': {
      const call = calls.find((candidate) => candidate.callId === part.callId)
      if (!call) return []
      return [
        {
          type: 'tool-call',
          toolCallId: callIds.of(call),
          toolName: toolName(call.name),
          input: toolInput(call.args),
          ...options,
        },
      ]
    }
    case 'provider_call': {
      const { providerCallId, name, args } = part
      if (!isReplayable || !hasResult(message, providerCallId)) return []
      const input = toolInput(args)
      return [
        { type: 'tool-call', toolCallId: providerCallId, toolName: name, input, providerExecuted: true, ...options },
      ]
    }
    case 'provider_result': {
      const { providerCallId, name, result, isError } = part
      if (!isReplayable || !hasCall(message, providerCallId)) return []
      const output = { type: isError ? ('error-json' as const) : ('json' as const), value: result as never }
      return [{ type: 'tool-result', toolCallId: providerCallId, toolName: name, output, ...options }]
    }
    case 'file':
      return [{ type: 'text', text: `[a file of type ${part.mediaType} was made here]` }]
    case 'source':
    case 'plain_call':
      return []
  }
}

/** One result for each call of the message, in their order. */
export function renderToolResults(
  message: AssistantItem,
  calls: readonly CallState[],
  callIds: CallIds,
  stubbed: ReadonlySet<string>,
): LanguageModelV4ToolResultPart[] {
  return message.parts.flatMap((part) => {
    const call = part.type === 'call' ? calls.find((candidate) => candidate.callId === part.callId) : undefined
    if (!call) return []
    const output = stubbed.has(call.callId) ? stubOutput : renderCallOutput(call)
    return [{ type: 'tool-result' as const, toolCallId: callIds.of(call), toolName: toolName(call.name), output }]
  })
}

const stubOutput = {
  type: 'text' as const,
  value: '[an old result, left out to save room; call the tool again if you need it]',
}

function providerOptions(metadata: unknown): { providerOptions?: Record<string, never> } {
  return metadata === undefined ? {} : { providerOptions: metadata as Record<string, never> }
}

/** A model may have asked for a tool by a name no provider takes back. */
function toolName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}

/** Providers want an object; a model may have sent something else. */
function toolInput(args: unknown): unknown {
  return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : { input: args }
}

function hasResult(message: AssistantItem, providerCallId: string): boolean {
  return message.parts.some((part) => part.type === 'provider_result' && part.providerCallId === providerCallId)
}

function hasCall(message: AssistantItem, providerCallId: string): boolean {
  return message.parts.some((part) => part.type === 'provider_call' && part.providerCallId === providerCallId)
}
