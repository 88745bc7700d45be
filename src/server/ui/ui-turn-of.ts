import { findTurn, keptMessages, openTurn, type TurnState } from '../../log/state.ts'
import { codeOf } from '../../view/hidden-error.ts'
import type { View } from '../../view/view.ts'
import type { FinishReason } from './ui-chunk.ts'
import { draftStep, writtenSteps } from './ui-steps.ts'
import type { Standing, UiStep, UiTurn } from './ui-turn.ts'

/** Where the bytes of a conversation's file are to be had. */
export type FileUrl = (conversationId: string, blob: string) => string

/** What is to be shown of a turn. Null when the view has none of that id; 'between' in the middle of a commit. */
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
    standing: standingOf(turn, view.state),
    progress: isOpen ? view.progress : {},
    elsewhere: isOpen ? view.children.pending : [],
  }
}

/** The same of a turn that need not be in the view, from the log alone. */
export function uiTurnFrom(
  turn: TurnState,
  { conversationId, state }: Pick<View, 'conversationId' | 'state'>,
  fileUrl: FileUrl,
): UiTurn | null {
  const written = stepsOf(turn, conversationId, fileUrl)
  if (!written) return null
  const standing = standingOf(turn, state)
  return { turnId: turn.turnId, steps: written, stepsBefore: 0, standing, progress: {}, elsewhere: [] }
}

const steps = new WeakMap<FileUrl, WeakMap<TurnState, readonly UiStep[]>>()

/** A turn stays the same object while only deltas come, of which there may be thousands. */
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
 * Pages that send by themselves once all calls of the last step have ended would do so for ever after a turn that ends with calls: it ends with
 * a step that has none.
 */
function withClosingStep({ turnId, end }: TurnState, written: readonly UiStep[]): readonly UiStep[] {
  // Of a turn that was cut short a page may show a call that is not in the log.
  const endsWithCalls = written.at(-1)?.parts.some(({ kind }) => kind === 'call') || end?.status !== 'completed'
  return end && written.length > 0 && endsWithCalls ? [...written, { messageId: `${turnId}:end`, parts: [] }] : written
}

function standingOf(turn: TurnState, state: View['state']): Standing {
  const finishReason = finishReasonOf(keptMessages(turn).at(-1)?.finishReason ?? 'other')
  if (!turn.end) {
    // A queued turn waits for whatever the open one waits for.
    return state === 'awaiting_input'
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
