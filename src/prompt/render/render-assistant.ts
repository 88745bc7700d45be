import type {
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import { callEnd } from '../../log/call-phase.ts'
import type { AssistantPart, ModelRef } from '../../log/events.ts'
import { callPosition } from '../../log/fold-call.ts'
import type { AssistantItem, CallState } from '../../log/state.ts'
import type { Reduction } from '../budget/reduce.ts'
import { type CallIds, ownCopy, wellFormed } from './call-ids.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type ContentPart = AssistantContent[number]

type MessageRendering = {
  readonly model: ModelRef
  readonly calls: readonly CallState[]
  readonly callIds: CallIds
  readonly stubbed: Reduction['stubbed']
}

type Rendered = {
  /** Empty when nothing of the message can be shown. */
  readonly content: AssistantContent
  /** One for each call of the message, in order. */
  readonly results: LanguageModelV4ToolResultPart[]
}

export function renderAssistant(message: AssistantItem, rendering: MessageRendering): Rendered {
  const isWhole = message.status === 'complete' && !message.parts.some((part) => part.type === 'plain_call')
  // Provider-specific content goes back only to its provider, and only as part of the whole message.
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
  // No provider accepts reasoning without the text or call that follows it.
  while (told.at(-1)?.type === 'reasoning') told.pop()
  return { content: legalContent(message, told), results }
}

function legalContent(message: AssistantItem, told: AssistantContent): AssistantContent {
  if (message.status !== 'complete')
    return message.parts.some(isSomething) ? [...told, { type: 'text', text: note[message.status] }] : []
  if (told.length === 0 || told.some((part) => part.type === 'text' || isOwnCall(part))) return told
  // Encoders drop parts of hosted calls that they do not know, and a message must not become empty.
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

/**
 * The result of a call as the model reads it. An open call gets a placeholder, because a prompt must not have calls
 * without results.
 */
export function renderCallOutput(call: CallState): LanguageModelV4ToolResultOutput {
  const end = callEnd(call)
  if (!end) return { type: 'text', value: '[no result yet: the call is still open]' }
  const edited = call.rounds.findLast((round) => round.resolution?.edited)?.resolution?.edited
  const note = edited
    ? `A person changed the arguments to ${JSON.stringify(wellFormed(edited.after))} before it ran. `
    : ''
  if (!end.ok) {
    const error = end.error.trim() === '' ? 'it failed and did not say why' : end.error.toWellFormed()
    return { type: 'error-text', value: `${note}${error}${outcomeNote(end.outcome)}` }
  }
  const result = wellFormed(end.result)
  const notes = `${note}${refusalNote(call.stateRefused)}`.trim()
  if (notes !== '') return { type: 'json', value: { note: notes, result } as never }
  // Not every provider accepts an empty text. As JSON it has quotes.
  const isText = typeof result === 'string' && result.trim() !== ''
  return isText ? { type: 'text', value: result } : { type: 'json', value: result as never }
}

function refusalNote(reason: string | undefined): string {
  return reason === undefined ? '' : `The state was not changed: ${reason.toWellFormed()}`
}

function outcomeNote(outcome: 'unknown' | 'ran' | undefined): string {
  if (outcome === 'unknown') return ' (outcome: unknown)'
  return outcome === 'ran' ? ' (outcome: ran)' : ''
}

/** A model may have called a tool by a name that no provider accepts back. */
function toolName(name: string, { provider }: ModelRef): string {
  const plain = usable.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
  // Google wants a letter or an underscore first.
  const isRefused = provider.startsWith('google') && !/^[a-zA-Z_]/.test(plain)
  return isRefused ? `_${plain}`.slice(0, 64) : plain
}

const usable = /^[a-zA-Z0-9_-]{1,64}$/

/** Providers require an object, but a model may have sent something else. */
function toolInput(args: Json): Json {
  const plain = wellFormed(args)
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain) ? plain : { input: plain }
}

const noPairs: ReadonlySet<string> = new Set()

/**
 * The ids of hosted calls that can go back to the model's host: one call with one result after it, under an id of their
 * own.
 */
function hostedPairs(
  parts: readonly AssistantPart[],
  { model, callIds }: { readonly model: ModelRef; readonly callIds: CallIds },
): ReadonlySet<string> {
  if (!parts.some((part) => part.type === 'provider_call') || !takesHostedCalls(model)) return noPairs
  const pairs = new Set<string>()
  for (const part of parts) {
    if (part.type !== 'provider_call') continue
    const { providerCallId, name } = part
    const [first, result, ...more] = parts.filter((other) => isAbout(other, providerCallId))
    const isPair = first === part && result?.type === 'provider_result' && more.length === 0
    // A result that could not be kept is null, which no encoder accepts.
    if (isPair && result.name === name && result.result !== null && callIds.claim(providerCallId))
      pairs.add(providerCallId)
  }
  return pairs
}

function isAbout(part: AssistantPart, providerCallId: string): boolean {
  return (part.type === 'provider_call' || part.type === 'provider_result') && part.providerCallId === providerCallId
}

/**
 * Chat-style APIs cannot express a call with its result inside a message. Their encoders would turn it into an
 * unanswered call.
 */
function takesHostedCalls({ provider }: ModelRef): boolean {
  return provider.includes('anthropic') || !/\.chat$|^google/.test(provider)
}
