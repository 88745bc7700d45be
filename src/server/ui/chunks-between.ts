import type { JsonObject } from '../../base/json.ts'
import { earlyFinish } from '../../log/state.ts'
import type { PendingItem } from '../../view/view.ts'
import { callChunks, roundId } from './ui-call-of.ts'
import type { Standing, UiCall, UiChunk, UiPart, UiStep, UiText, UiTurn } from './ui-turn.ts'

export type Between = {
  readonly chunks: readonly UiChunk[]
  /** What the client shows after these chunks. Pass it as `before` the next time. */
  readonly shown: UiTurn | null
  /**
   * The stream ends: the turn has ended or waits for input, or it cannot be shown in this stream, which an `error`
   * chunk says.
   */
  readonly isOver: boolean
}

export type BetweenOptions = {
  /** Whether the client accepts the chunks of version 7. */
  readonly isV7: boolean
  /** Whether the stream begins here. Default: when nothing is shown yet. */
  readonly isFirst?: boolean
}

/** The chunks that bring a client from `before` to `after`. Pure. `after` is null when the turn is gone. */
export function chunksBetween(before: UiTurn | null, after: UiTurn | null, options: BetweenOptions): Between {
  if (!after) return { chunks: [withdrawal], shown: null, isOver: true }
  const { isV7, isFirst = before === null } = options
  const { turnId, standing } = after
  const chunks: UiChunk[] = isFirst
    ? [{ type: 'start', messageId: turnId, messageMetadata: { status: 'running', ...lastingMetadata(after) } }]
    : []
  // The client still shows steps that are no longer in the view.
  const gone = before ? Math.max(0, after.stepsBefore - before.stepsBefore) : 0
  const {
    chunks: changes,
    steps,
    isWithdrawn,
  } = stepsBetween(before?.steps.slice(gone) ?? [], after.steps, {
    isV7,
    hasEarlier: gone > 0,
  })
  chunks.push(...changes)
  if (isWithdrawn) return { chunks: [...chunks, withdrawal], shown: null, isOver: true }
  chunks.push(...progressBetween(before?.progress ?? {}, after.progress))
  chunks.push(...childQuestionsBetween(before?.childQuestions ?? [], after.childQuestions))
  const shown = steps === after.steps ? after : { ...after, steps }
  if (standing.status === 'running') return { chunks, shown, isOver: false }
  if (steps.length > 0) chunks.push({ type: 'finish-step' })
  return { chunks: [...chunks, ...endOf(standing)], shown, isOver: true }
}

const withdrawal: UiChunk = {
  type: 'error',
  errorText: 'A part of this message was withdrawn. Resume the stream to see the current message.',
}

/** Tells a page that the turn is incomplete, where the log has the rest, and that it is there in place of others. */
export function lastingMetadata({ steps, stepsBefore, replaced }: UiTurn): JsonObject {
  const isIncomplete = stepsBefore > 0 || steps.some(({ isAbridged }) => isAbridged)
  const variants = replaced ? { variants: replaced.variants, previousSeq: replaced.previousSeq } : {}
  return { ...(isIncomplete ? { leftOut: true } : {}), ...variants }
}

/** `finishReason` is there when the last message ended before the model was done, so that it does not look complete. */
export function standingMetadata({ status, reason, finishReason }: Standing): JsonObject {
  const early = status === 'completed' ? earlyFinish(finishReason) : null
  return { status, ...(reason === null ? {} : { reason }), ...(early === null ? {} : { finishReason: early }) }
}

function endOf(standing: Standing): UiChunk[] {
  const messageMetadata = standingMetadata(standing)
  switch (standing.status) {
    case 'failed': {
      return [
        { type: 'message-metadata', messageMetadata },
        { type: 'error', errorText: failureText(standing) },
      ]
    }
    case 'cancelled':
      return [{ type: 'message-metadata', messageMetadata }, { type: 'abort' }]
    default:
      return [{ type: 'finish', finishReason: standing.finishReason, messageMetadata }]
  }
}

export function failureText({ reason }: Standing): string {
  const what = failures.get(reason ?? '')
  return `The turn failed${what === undefined ? '' : `: ${what}`} (${reason}). Send the message again.`
}

/** What people read of a model that failed: what kind of failure it was, never what the provider said. */
const failures: ReadonlyMap<string, string> = new Map([
  ['model_interrupted', 'the answer of the model was cut off'],
  ['model_overloaded', 'the model is overloaded'],
  ['model_rate_limited', 'the rate limit of the model is reached'],
  ['model_timed_out', 'the model took too long'],
  ['model_unreachable', 'the model could not be reached'],
  ['object_cut_off', 'the answer of the model was cut off at its length limit'],
])

function progressBetween(before: UiTurn['progress'], after: UiTurn['progress']): UiChunk[] {
  if (before === after) return []
  return Object.entries(after).flatMap(([callId, progress]): UiChunk[] =>
    before[callId] === progress
      ? []
      : [{ type: 'data-progress', id: callId, data: { callId, progress }, transient: true }],
  )
}

/** Questions of child agents belong to their own conversations, so they are sent as transient data, not as parts. */
function childQuestionsBetween(before: readonly PendingItem[], after: readonly PendingItem[]): UiChunk[] {
  if (before === after) return []
  const [known, wanted] = [new Set(before.map(nameOf)), new Set(after.map(nameOf))]
  return [
    ...before.filter((item) => !wanted.has(nameOf(item))).map((item) => childQuestion(item, 'closed')),
    ...after.filter((item) => !known.has(nameOf(item))).map((item) => childQuestion(item, 'open')),
  ]
}

function childQuestion(item: PendingItem, status: 'open' | 'closed'): UiChunk {
  const { conversationId, callId, round, kind, tool, description, args, prompt, schema, expiresAt, doneBefore } = item
  const told = { ...(description === undefined ? {} : { description }), ...(doneBefore ? { doneBefore } : {}) }
  const data = { conversationId, callId, round, kind, tool, ...told, args, prompt, schema, expiresAt, status }
  return { type: 'data-child-question', id: nameOf(item), data, transient: true }
}

function nameOf({ callId, round }: PendingItem): string {
  return roundId(callId, round)
}

type StepsBetween = {
  readonly chunks: readonly UiChunk[]
  /** What the client shows after the chunks. */
  readonly steps: readonly UiStep[]
  /** Something shown was withdrawn, and this client has no chunk for that. */
  readonly isWithdrawn: boolean
}

type StepsOptions = {
  readonly isV7: boolean
  /** Whether the client shows earlier steps. Default: false. */
  readonly hasEarlier?: boolean
}

/**
 * The chunks that turn one list of steps into another. Only the newest step can be withdrawn, and only with version 7.
 */
function stepsBetween(
  before: readonly UiStep[],
  after: readonly UiStep[],
  { isV7, hasEarlier = false }: StepsOptions,
): StepsBetween {
  const chunks: UiChunk[] = []
  for (const [index, shown] of before.entries()) {
    const step = after[index]
    if (step === shown) continue
    const changes = step && step.messageId === shown.messageId ? partsBetween(shown, step, isV7) : null
    if (changes) {
      chunks.push(...changes)
      continue
    }
    const isWithdrawnStep = shown.messageId === withdrawnStep.messageId
    if (!isWithdrawnStep) chunks.push(...closing(shown))
    if (!isV7 || index < before.length - 1) return { chunks, steps: after, isWithdrawn: true }
    if (!isWithdrawnStep) chunks.push({ type: 'reset-step' })
    if (step) chunks.push(...(partsBetween(emptyStep, step, isV7) ?? []))
  }
  for (const [index, step] of after.entries()) {
    if (index < before.length) continue
    if (index > 0 || hasEarlier) chunks.push({ type: 'finish-step' })
    chunks.push({ type: 'start-step' }, ...(partsBetween(emptyStep, step, isV7) ?? []))
  }
  const steps = after.length < before.length ? [...after, withdrawnStep] : after
  return { chunks, steps, isWithdrawn: false }
}

const emptyStep: UiStep = { messageId: '', parts: [] }

/** A step that was withdrawn. The next step takes its place. */
const withdrawnStep: UiStep = { messageId: ':emptied', parts: [] }

/** Null when the parts on screen cannot become these. */
function partsBetween(before: UiStep, { messageId, parts, isAbridged }: UiStep, isV7: boolean): UiChunk[] | null {
  const shown = new Map(before.parts.map((part) => [part.key, part]))
  const keys = new Set(parts.map(({ key }) => key))
  const chunks: UiChunk[] = []
  for (const part of parts) {
    // Keep the full text on screen: the part here is cut short.
    if (isAbridged && isSameStage(shown.get(part.key), part)) continue
    const known = shown.get(part.key) ?? sameRefused(part, shown, keys)
    if (known) shown.delete(known.key)
    const changes = partBetween(known ?? null, part, messageId, isV7)
    if (!changes) return null
    chunks.push(...changes)
  }
  for (const gone of isAbridged ? [] : shown.values()) {
    if (gone.kind === 'text') return null
    if (gone.kind === 'reasoning') chunks.push(...ending(gone, messageId))
    if (gone.kind === 'call') chunks.push(cutOff(gone))
  }
  return chunks
}

function isSameStage(before: UiPart | undefined, after: UiPart): boolean {
  if (before?.kind !== after.kind) return false
  return before.kind !== 'call' || (after.kind === 'call' && before.stage.type === after.stage.type)
}

/** The chunks that update one part. Null when that is impossible. */
function partBetween(before: UiPart | null, after: UiPart, messageId: string, isV7: boolean): UiChunk[] | null {
  if (before === after) return []
  switch (after.kind) {
    case 'text':
    case 'reasoning':
      return textBetween(before?.kind === after.kind ? before : null, after, messageId)
    case 'call': {
      const known = before?.kind === 'call' ? before : null
      // A call that was never made has no id in the log. It keeps the one it is shown under.
      return callChunks(known, after.stage.type === 'refused' && known ? { ...after, key: known.key } : after, isV7)
    }
    case 'attachment':
      return before ? [] : [after.chunk]
    case 'question': {
      const isSame = before?.kind === 'question' && before.data.status === after.data.status
      return isSame ? [] : [{ type: 'data-question', id: after.key, data: after.data }]
    }
  }
}

function textBetween(before: UiText | null, after: UiText, messageId: string): UiChunk[] | null {
  const { kind, text } = after
  const id = idOf(after, messageId)
  if (before?.isDone) return before.text === text || kind === 'reasoning' ? [] : null
  const shown = before?.text ?? ''
  // Text being written only grows. The committed text may differ.
  const isGrown = after.isDone ? text.startsWith(shown) : text.length >= shown.length
  // Streamed reasoning may be shorter than the final reasoning, or differ from it.
  if (!isGrown && kind === 'text') return null
  const chunks: UiChunk[] = before ? [] : [{ type: `${kind}-start`, id }]
  const delta = isGrown ? text.slice(shown.length) : ''
  if (delta !== '') chunks.push({ type: `${kind}-delta`, id, delta })
  return after.isDone ? [...chunks, ...ending(after, messageId)] : chunks
}

function ending(text: UiText, messageId: string): UiChunk[] {
  const { kind, providerMetadata } = text
  return [{ type: `${kind}-end`, id: idOf(text, messageId), ...(providerMetadata ? { providerMetadata } : {}) }]
}

function closing({ messageId, parts }: UiStep): UiChunk[] {
  return parts.flatMap((part) =>
    (part.kind === 'text' || part.kind === 'reasoning') && !part.isDone ? ending(part, messageId) : [],
  )
}

function idOf({ key }: UiText, messageId: string): string {
  return `${messageId}:${key}`
}

/** The call that a page saw being written and that was then not made. */
function sameRefused(part: UiPart, shown: Map<string, UiPart>, keys: ReadonlySet<string>): UiPart | undefined {
  if (part.kind !== 'call' || part.stage.type !== 'refused') return undefined
  return shown.values().find((other) => other.kind === 'call' && other.name === part.name && !keys.has(other.key))
}

/** A call whose input never became complete does not exist in the log. */
function cutOff({ key, name, stage }: UiCall): UiChunk {
  const input = stage.type === 'writing' ? stage.text : null
  return {
    type: 'tool-input-error',
    toolCallId: key,
    toolName: name,
    input,
    errorText: 'The model stopped before this call was complete. It was not made.',
  }
}
