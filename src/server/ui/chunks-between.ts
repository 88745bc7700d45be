import type { JsonObject } from '../../base/json.ts'
import type { PendingItem } from '../../view/view.ts'
import { stepsBetween } from './steps-between.ts'
import { roundId } from './ui-call-of.ts'
import type { UiChunk } from './ui-chunk.ts'
import type { Standing, UiTurn } from './ui-turn.ts'

export type Between = {
  readonly chunks: readonly UiChunk[]
  /** What the client shows then: pass it as `before` the next time. */
  readonly shown: UiTurn | null
  /** Nothing more follows until somebody acts; or it cannot be shown in this stream, which an `error` says. */
  readonly isOver: boolean
}

export type BetweenOptions = {
  /** Whether the client knows the chunks of version 7. */
  readonly isV7: boolean
  /** Whether this is where a stream begins. Default: when nothing is shown yet. */
  readonly isFirst?: boolean
}

/** What a client that shows `before` must be sent to show `after`. Pure. Null as `after`: the turn is gone. */
export function chunksBetween(before: UiTurn | null, after: UiTurn | null, options: BetweenOptions): Between {
  if (!after) return { chunks: [withdrawal], shown: null, isOver: true }
  const { isV7, isFirst = before === null } = options
  const { turnId, standing } = after
  const chunks: UiChunk[] = isFirst
    ? [{ type: 'start', messageId: turnId, messageMetadata: { status: 'running', ...leftOutOf(after) } }]
    : []
  // Steps that are not here any more are still shown.
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
  chunks.push(...elsewhereBetween(before?.elsewhere ?? [], after.elsewhere))
  const shown = steps === after.steps ? after : { ...after, steps }
  if (standing.status === 'running') return { chunks, shown, isOver: false }
  if (steps.length > 0) chunks.push({ type: 'finish-step' })
  return { chunks: [...chunks, ...endOf(standing)], shown, isOver: true }
}

const withdrawal: UiChunk = {
  type: 'error',
  errorText: 'What was shown of this message was withdrawn. Resume to see it as it is.',
}

/** Tells a page that it does not get all of the turn; the log has the rest. */
export function leftOutOf({ steps, stepsBefore }: UiTurn): { readonly leftOut?: true } {
  return stepsBefore > 0 || steps.some(({ isAbridged }) => isAbridged) ? { leftOut: true } : {}
}

export function metadataOf({ status, reason }: Standing): JsonObject {
  return reason === null ? { status } : { status, reason }
}

function endOf(standing: Standing): UiChunk[] {
  const messageMetadata = metadataOf(standing)
  switch (standing.status) {
    case 'failed': {
      const errorText = `The turn failed (${standing.reason}). Send the message again.`
      return [
        { type: 'message-metadata', messageMetadata },
        { type: 'error', errorText },
      ]
    }
    case 'cancelled':
      return [{ type: 'message-metadata', messageMetadata }, { type: 'abort' }]
    default:
      return [{ type: 'finish', finishReason: standing.finishReason, messageMetadata }]
  }
}

function progressBetween(before: UiTurn['progress'], after: UiTurn['progress']): UiChunk[] {
  if (before === after) return []
  return Object.entries(after).flatMap(([callId, progress]): UiChunk[] =>
    before[callId] === progress
      ? []
      : [{ type: 'data-progress', id: callId, data: { callId, progress }, transient: true }],
  )
}

/** What waits in child agents is theirs to keep, so it is told and not made a part of the message. */
function elsewhereBetween(before: readonly PendingItem[], after: readonly PendingItem[]): UiChunk[] {
  if (before === after) return []
  const [known, wanted] = [new Set(before.map(nameOf)), new Set(after.map(nameOf))]
  return [
    ...before.filter((item) => !wanted.has(nameOf(item))).map((item) => childQuestion(item, 'closed')),
    ...after.filter((item) => !known.has(nameOf(item))).map((item) => childQuestion(item, 'open')),
  ]
}

function childQuestion(item: PendingItem, status: 'open' | 'closed'): UiChunk {
  const { conversationId, callId, round, kind, tool, args, prompt, schema, expiresAt } = item
  const data = { conversationId, callId, round, kind, tool, args, prompt, schema, expiresAt, status }
  return { type: 'data-child-question', id: nameOf(item), data, transient: true }
}

function nameOf({ callId, round }: PendingItem): string {
  return roundId(callId, round)
}
