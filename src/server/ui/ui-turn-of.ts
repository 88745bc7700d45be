import type { Json, JsonObject } from '../../base/json.ts'
import { leftOutOf } from '../../log/abridge.ts'
import { isBlobRef } from '../../log/blob-ref.ts'
import type { AssistantPart } from '../../log/events.ts'
import { callPosition } from '../../log/fold-call.ts'
import { type AssistantItem, findTurn, keptMessages, openTurn, type TurnState } from '../../log/state.ts'
import type { TurnRecord } from '../../runtime/read/history.ts'
import { codeOf } from '../../view/hidden.ts'
import type { Draft, DraftPart, View } from '../../view/view.ts'
import { lastingMetadata, standingMetadata } from './chunks-between.ts'
import { questionsOf, uiCallOf } from './ui-call-of.ts'
import type { AttachmentChunk, FinishReason, Standing, UiCall, UiPart, UiStep, UiText, UiTurn } from './ui-turn.ts'

/** The URL of a file in a conversation. */
export type FileUrl = (conversationId: string, blob: string) => string

/** What a page shows of a turn. Null when the view has no such turn; 'between' in the middle of a commit. */
export function uiTurnOf(view: View, turnId: string, fileUrl: FileUrl): UiTurn | 'between' | null {
  const turn = findTurn(view.log, turnId)
  if (!turn) return null
  const written = stepsOf(turn, view.conversationId, fileUrl)
  if (!written) return 'between'
  const drafts = view.drafts.filter((draft) => draft.turnId === turnId)
  const isOpen = openTurn(view.log) === turn
  return {
    turnId,
    steps: drafts.length === 0 ? written : [...written, ...drafts.map(draftStep)],
    stepsBefore: turn.leftOut?.messages ?? 0,
    standing: standingOf(turn, view.phase),
    progress: isOpen ? view.progress : {},
    childQuestions: isOpen ? view.children.pending : [],
    ...(turn.replaced && { replaced: turn.replaced }),
  }
}

/** The same for a turn that need not be in the view, from the log alone. */
export function uiTurnFrom(
  turn: TurnState,
  { conversationId, phase }: Pick<View, 'conversationId' | 'phase'>,
  fileUrl: FileUrl,
): UiTurn | null {
  const written = stepsOf(turn, conversationId, fileUrl)
  if (!written) return null
  const standing = standingOf(turn, phase)
  return { turnId: turn.turnId, steps: written, stepsBefore: 0, standing, progress: {}, childQuestions: [] }
}

const steps = new WeakMap<FileUrl, WeakMap<TurnState, readonly UiStep[]>>()

/** Cached: the turn stays the same object while deltas arrive, and there may be thousands. */
function stepsOf(turn: TurnState, conversationId: string, fileUrl: FileUrl): readonly UiStep[] | null {
  const known = steps.get(fileUrl) ?? new WeakMap<TurnState, readonly UiStep[]>()
  steps.set(fileUrl, known)
  const kept = known.get(turn)
  if (kept) return kept
  const written = writtenSteps(turn, (blob) => fileUrl(conversationId, blob))
  if (!written) return null
  const found = withClosingStep(turn, written)
  known.set(turn, found)
  return found
}

/**
 * Pages that send automatically when all calls of the last step have ended would do so forever after a turn that ends
 * with calls. So such a turn ends with an empty step.
 */
function withClosingStep({ turnId, end }: TurnState, written: readonly UiStep[]): readonly UiStep[] {
  // A page may show a call of a cancelled turn that is not in the log.
  const endsWithCalls = written.at(-1)?.parts.some(({ kind }) => kind === 'call') || end?.status !== 'completed'
  return end && written.length > 0 && endsWithCalls ? [...written, { messageId: `${turnId}:end`, parts: [] }] : written
}

function standingOf(turn: TurnState, phase: View['phase']): Standing {
  const finishReason = finishReasonOf(keptMessages(turn).at(-1)?.finishReason ?? 'other')
  if (!turn.end) {
    // A queued turn waits for the same input as the open one.
    return phase === 'waiting'
      ? { status: 'waiting', reason: null, finishReason: 'tool-calls' }
      : { status: 'running', reason: null, finishReason }
  }
  const { status, reason } = turn.end
  switch (status) {
    case 'completed':
      return { status, reason: null, finishReason }
    case 'failed':
      return { status, reason: codeOf(reason), finishReason: 'error' }
    case 'cancelled':
    case 'halted':
      return { status, reason, finishReason: 'other' }
  }
}

function finishReasonOf(reason: string): FinishReason {
  return finishReasons.has(reason) ? (reason as FinishReason) : 'other'
}

const finishReasons = new Set<string>(['stop', 'length', 'content-filter', 'tool-calls', 'error'])

/** The URL of a file. */
type BlobUrl = (blob: string) => string

/** The committed messages of a turn. Null in the middle of a commit, when a message has arrived without its calls. */
function writtenSteps(turn: TurnState, blobUrl: BlobUrl): readonly UiStep[] | null {
  const messages = keptMessages(turn)
  const known = new Set(turn.calls.map(({ callId }) => callId))
  const isWhole = messages.every(({ parts }) => parts.every((part) => part.type !== 'call' || known.has(part.callId)))
  return isWhole ? messages.map((message) => writtenStep(message, turn, blobUrl)) : null
}

/**
 * A message being written. A part is identified by its position among parts of its kind, because that is all that
 * remains of it when the message is committed.
 */
function draftStep({ messageId, parts }: Draft): UiStep {
  const whole = new Map<string, DraftPart>()
  for (const piece of parts) {
    const known = whole.get(piece.part)
    whole.set(piece.part, known ? { ...known, text: known.text + piece.text } : piece)
  }
  const all = [...whole.values()]
  const texts = all.filter(({ type }) => type !== 'tool_input')
  return {
    messageId,
    parts: all.map((part) => (part.type === 'tool_input' ? draftCall(part) : draftText(part, texts))),
  }
}

function draftText({ type, part, text }: DraftPart, texts: readonly DraftPart[]): UiText {
  const place = texts.filter((other) => other.type === type && ordinal(other.part) < ordinal(part)).length
  return { kind: type as UiText['kind'], key: `${type}-${place}`, text, isDone: false }
}

const draftCalls = new WeakMap<DraftPart, UiCall>()

/** Cached: a message may have thousands of calls, and a delta changes one. */
function draftCall(written: DraftPart): UiCall {
  const { part, text, name = '' } = written
  const call = draftCalls.get(written) ?? { ...bareCall, key: part, name, stage: { type: 'writing', text } }
  draftCalls.set(written, call)
  return call
}

function ordinal(part: string): number {
  return Number(/\d+$/.exec(part)?.[0] ?? 0)
}

const bareCall = {
  kind: 'call',
  input: null,
  approval: null,
  isForPage: false,
  isProviderRun: false,
} as const satisfies Partial<UiCall>

/** Parts that were streamed come first, in the order in which the page has them. Other parts follow. */
function writtenStep(
  { messageId, parts, withheld, leftOut }: AssistantItem,
  turn: TurnState,
  blobUrl: BlobUrl,
): UiStep {
  // A new step id, so that the page withdraws everything it shows of the draft, including reasoning and calls.
  if (withheld) return { messageId: `${messageId}:withheld`, parts: [] }
  const texts = { text: 0, reasoning: 0, sealed: 0 }
  const shown: UiPart[] = []
  const others: UiPart[] = []
  for (const [index, part] of parts.entries()) {
    if (part.type === 'text' || part.type === 'reasoning') {
      const isSealed = part.text === ''
      const key = isSealed ? `sealed-${texts.sealed++}` : `${part.type}-${texts[part.type]++}`
      ;(isSealed ? others : shown).push(writtenText(part, key))
    } else if (part.type === 'call') {
      const call = turn.calls[callPosition(turn.calls, part.callId)]
      if (call) shown.push(uiCallOf(call, metadataOf(part.providerMetadata)))
    } else {
      const group = part.type === 'plain_call' ? shown : others
      group.push(...otherPart(part, `${messageId}:${index}`, parts, blobUrl))
    }
  }
  const keys = new Set(shown.map(({ key }) => key))
  const own = turn.calls.filter(({ callId }) => keys.has(callId))
  const isAbridged = leftOut !== undefined || own.some((call) => leftOutOf(call) > 0)
  return { messageId, parts: [...shown, ...others, ...questionsOf(own)], ...(isAbridged ? { isAbridged } : {}) }
}

type Block = Extract<AssistantPart, { type: 'text' | 'reasoning' }>

function writtenText({ type, text, providerMetadata }: Block, key: string): UiText {
  const metadata = metadataOf(providerMetadata)
  return { kind: type, key, text, isDone: true, ...(metadata ? { providerMetadata: metadata } : {}) }
}

/** `id` is unique in the turn. Ids from providers may repeat. */
function otherPart(
  part: Exclude<AssistantPart, Block | { type: 'call' }>,
  id: string,
  all: readonly AssistantPart[],
  blobUrl: BlobUrl,
): UiPart[] {
  switch (part.type) {
    case 'file': {
      const { mediaType, data } = part
      const url = typeof data === 'string' ? data : blobUrl(data.blob)
      return [{ kind: 'attachment', key: id, chunk: { type: 'file', url, mediaType } }]
    }
    case 'source': {
      const chunk = sourceChunk(part.source, id)
      return chunk ? [{ kind: 'attachment', key: id, chunk }] : []
    }
    case 'plain_call': {
      const errorText = 'This call was not made.'
      return [{ ...bareCall, key: id, name: part.name, input: part.args, stage: { type: 'refused', errorText } }]
    }
    case 'provider_call': {
      const { name, args, providerCallId } = part
      const metadata = metadataOf(part.providerMetadata)
      const end = all.find((other) => other.type === 'provider_result' && other.providerCallId === providerCallId)
      const call = { ...bareCall, key: id, name, input: args, isProviderRun: true, stage: providerStage(end) }
      return [metadata ? { ...call, providerMetadata: metadata } : call]
    }
    default:
      // A result is shown with its call.
      return []
  }
}

function providerStage(end: AssistantPart | undefined): UiCall['stage'] {
  if (end?.type !== 'provider_result') return { type: 'ready' }
  if (!end.isError) return { type: 'output', output: end.result }
  return { type: 'error', errorText: typeof end.result === 'string' ? end.result : JSON.stringify(end.result) }
}

function sourceChunk(source: JsonObject, id: string): AttachmentChunk | null {
  const sourceId = textOf(source['id']) ?? id
  const title = textOf(source['title'])
  const url = textOf(source['url'])
  if (source['sourceType'] === 'url' && url !== null)
    return { type: 'source-url', sourceId, url, ...(title === null ? {} : { title }) }
  const mediaType = textOf(source['mediaType'])
  if (source['sourceType'] !== 'document' || mediaType === null) return null
  const filename = textOf(source['filename'])
  const named = { type: 'source-document', sourceId, mediaType, title: title ?? filename ?? '' } as const
  return filename === null ? named : { ...named, filename }
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** Clients reject metadata of any other form. */
function metadataOf(metadata: JsonObject | undefined): JsonObject | undefined {
  const kept = Object.entries(metadata ?? {}).filter(
    ([, value]) => typeof value === 'object' && value !== null && !Array.isArray(value),
  )
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

/** A message as `useChat` takes it. */
export type UiMessage = {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: JsonObject
  readonly parts: readonly JsonObject[]
}

type Place = Pick<View, 'conversationId' | 'phase'>

/** The messages of turns, from the log. */
export function uiMessagesOf(turns: readonly TurnRecord[], place: Place, fileUrl: FileUrl): UiMessage[] {
  return turns.flatMap(({ turn, said, cutAt, replaced }) => {
    const written = uiTurnFrom(turn, place, fileUrl)
    const shown = written && replaced ? { ...written, replaced } : written
    const users = said.map((user) => userMessage(user, place.conversationId, fileUrl))
    const isBegun = shown && (shown.steps.length > 0 || (shown.standing.status !== 'running' && cutAt === null))
    if (!isBegun) return users
    return [...users, cutAt === null ? uiMessageOf(shown) : beginningOf(shown, cutAt)]
  })
}

/** The first part of a turn that is too long for one page. The rest is a message of its own on the next page. */
function beginningOf(turn: UiTurn, cutAt: number): UiMessage {
  return { ...uiMessageOf(turn), id: `${turn.turnId}:${cutAt}`, metadata: { status: 'continued' } }
}

/** The message that a page shows after it has received all of a turn. */
export function uiMessageOf(turn: UiTurn): UiMessage {
  const { turnId, steps, standing } = turn
  const parts = steps.flatMap(({ messageId, parts: shown }) => [
    { type: 'step-start' },
    ...shown.map((part) => partOf(part, messageId)),
  ])
  const metadata = { ...standingMetadata(standing), ...lastingMetadata(turn) }
  return { id: turnId, role: 'assistant', metadata, parts }
}

/** A key of a message that took the place of another: see `replacementFor`. It is shown under the id of the first. */
const replacing = /^(.+)\/(?:submit|regenerate)-message\/[^/]+$/

export function userMessageId({ seq, key }: Pick<TurnRecord['said'][number], 'seq' | 'key'>): string {
  return key === null ? `user-${seq}` : (replacing.exec(key)?.[1] ?? key)
}

function userMessage(
  { message, data, ...place }: TurnRecord['said'][number],
  conversationId: string,
  fileUrl: FileUrl,
): UiMessage {
  const parts = message.parts.map((part): JsonObject => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const { mediaType, data, filename } = part
    const url = isBlobRef(data) ? fileUrl(conversationId, data.blob) : data
    return { type: 'file', mediaType, url, ...(filename === undefined ? {} : { filename }) }
  })
  const { metadata } = Object(data) as { readonly metadata?: Json }
  const kept = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? { metadata } : {}
  return { id: userMessageId(place), role: 'user', ...(kept as Pick<UiMessage, 'metadata'>), parts }
}

function partOf(part: UiPart, messageId: string): JsonObject {
  switch (part.kind) {
    case 'text':
    case 'reasoning': {
      const { kind: type, key, text, isDone, providerMetadata } = part
      const named = type === 'reasoning' ? { type, id: `${messageId}:${key}` } : { type }
      const state = isDone ? 'done' : 'streaming'
      return { ...named, text, state, ...(providerMetadata ? { providerMetadata } : {}) }
    }
    case 'attachment':
      return part.chunk
    case 'question':
      return { type: 'data-question', id: part.key, data: part.data }
    case 'call':
      return callPart(part)
  }
}

function callPart(call: UiCall): JsonObject {
  const { key, name, input, approval, isProviderRun, providerMetadata } = call
  return {
    type: `tool-${name}`,
    toolCallId: key,
    input,
    ...stateOf(call),
    ...(approval ? { approval: shownApproval(approval) } : {}),
    ...(isProviderRun ? { providerExecuted: true } : {}),
    ...(providerMetadata ? { callProviderMetadata: providerMetadata } : {}),
  }
}

function shownApproval({ id, approved, reason }: NonNullable<UiCall['approval']>): JsonObject {
  return { id, ...(approved === null ? {} : { approved }), ...(reason === undefined ? {} : { reason }) }
}

function stateOf({ stage, approval }: UiCall): JsonObject {
  switch (stage.type) {
    case 'writing':
    case 'held':
      return { state: 'input-streaming' }
    case 'ready':
      return { state: approval?.approved ? 'approval-responded' : 'input-available' }
    case 'awaited':
      return { state: 'input-available' }
    case 'asked':
      return { state: 'approval-requested' }
    case 'denied':
      return { state: 'output-denied' }
    case 'output':
      return { state: 'output-available', output: stage.output }
    case 'error':
    case 'refused':
      return { state: 'output-error', errorText: stage.errorText }
  }
}
