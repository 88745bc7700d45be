import { ScopeMissingError } from '../base/errors/runtime-errors.ts'
import type { Json } from '../base/json.ts'
import { leftOutOf } from '../log/abridge.ts'
import { pickKeys } from '../log/app-state.ts'
import { callPhase, deadlineOf, effectiveArgs } from '../log/call-phase.ts'
import { childCalls, childIdOf } from '../log/child-call.ts'
import { callPosition } from '../log/fold-call.ts'
import { phaseOf } from '../log/fsm-state.ts'
import {
  type CallState,
  type ConversationState,
  type NoteItem,
  openTurn,
  type TurnState,
  type UserItem,
} from '../log/state.ts'
import { doneBefore } from '../log/superseded.ts'
import { shownBytes, trimState } from '../log/trim-state.ts'
import { type LiveParts, noChildren, nothingLive, viewPhase } from './live-events.ts'
import type { Children, LeftOut, PendingItem, View, ViewCall, ViewMessage, ViewPart, ViewUserMessage } from './view.ts'

/** The view of a folded log, combined with its live parts. */
export function viewOf(conversationId: string, log: ConversationState, live: LiveParts = nothingLive): View {
  const children = openChildren(log, live.children)
  const logged = phaseOf(log)
  const phase = logged === 'awaiting_input' && !isWaiting(log, children) ? 'running' : viewPhase(logged)
  const messages = log.turns.flatMap(messagesOf)
  return {
    conversationId,
    seq: log.lastSeq,
    title: log.title,
    phase,
    state: log.appState ? pickKeys(log.appState.values, log.appState.exposed) : null,
    activity: phase === 'running' ? live.activity : null,
    ...problemOf(conversationId, log),
    messages,
    notes: notesSince(log, messages[0]),
    ...(log.notesLeftOut === undefined ? {} : { notesLeftOut: log.notesLeftOut }),
    before: log.hasOlder ? (messages[0]?.seq ?? log.lastSeq + 1) : null,
    pending: [...pendingItems(conversationId, log), ...children.pending],
    children,
    drafts: live.drafts.filter((draft) => !isSettled(log, draft)),
    progress: runningProgress(log, live.progress),
    log,
  }
}

/** The notes that no older page has. */
function notesSince({ notes = [], hasOlder }: ConversationState, first: ViewMessage | undefined): readonly NoteItem[] {
  return hasOlder && first ? notes.filter(({ seq }) => seq > first.seq) : notes
}

function problemOf(conversationId: string, log: ConversationState): Pick<View, 'problem'> {
  const missing = openTurn(log)?.scopeMissing
  if (!missing) return {}
  const { code, message } = new ScopeMissingError(conversationId, missing.who)
  return { problem: { code: code as 'scope_missing', message, who: missing.who, at: missing.at } }
}

/** The conversation's own calls that wait for an answer. A call that a child agent works on is not one of them. */
export function pendingItems(conversationId: string, log: ConversationState): PendingItem[] {
  const turn = openTurn(log)
  if (!turn) return []
  return turn.calls.flatMap((call) => {
    const phase = callPhase(call)
    if (phase.type !== 'pending' || phase.round.kind === 'sub_agent') return []
    const { round, kind, prompt, schema } = phase.round
    const expiresAt = deadlineOf(phase.round)
    const { callId, name } = call
    const { turnId } = turn
    const args = effectiveArgs(call)
    const path = [{ conversationId, callId }]
    const item = { conversationId, turnId, callId, round, kind, tool: name, args, prompt, schema, expiresAt, path }
    return [
      {
        ...item,
        ...descriptionIn(call, prompt),
        ...doneBeforeIn(turn, call),
        ...restoredFromIn(call),
        ...leftOutIn(call),
      },
    ]
  })
}

/** Whether nothing runs or can run, here or in a child agent, until a call is answered. */
export function isWaiting(log: ConversationState, { waiting }: Pick<Children, 'waiting'>): boolean {
  const waitingCalls = new Set(waiting)
  return phaseOf(log) === 'awaiting_input' && childCalls(log).every(({ callId }) => waitingCalls.has(callId))
}

/** Drops children whose calls have ended. */
function openChildren(log: ConversationState, { waiting, pending }: Children): Children {
  if (waiting.length === 0 && pending.length === 0) return noChildren
  const open = new Set(childCalls(log).map(({ callId }) => callId))
  return {
    waiting: waiting.filter((callId) => open.has(callId)),
    pending: pending.filter(({ path }) => open.has(path[0]?.callId ?? '')),
  }
}

/** Whether the draft's message is in the log, or its turn has ended without it. */
export function isSettled(log: ConversationState, draft: { turnId: string; messageId: string }): boolean {
  const turn = log.turns.findLast((candidate) => candidate.turnId === draft.turnId)
  if (!turn || turn.end) return true
  return turn.items.some((item) => item.type === 'assistant' && item.messageId === draft.messageId)
}

function runningProgress(log: ConversationState, progress: View['progress']): View['progress'] {
  const started = new Set(
    openTurn(log)
      ?.calls.filter((call) => callPhase(call).type === 'started')
      .map((call) => call.callId),
  )
  const kept = Object.entries(progress).filter(([callId]) => started.has(callId))
  return kept.length === Object.keys(progress).length ? progress : Object.fromEntries(kept)
}

function messagesOf(turn: TurnState): ViewMessage[] {
  if (!turn.opened && turn.end) return []
  const messages: ViewMessage[] = []
  for (const item of turn.items) {
    if (item.type === 'user') {
      const { seq, at, who, message } = item
      const said = { seq, at, who, parts: message.parts, isQueued: !turn.opened }
      messages.push({ role: 'user', turnId: turn.turnId, ...said, ...variantsIn(turn, item), ...marksOf(item) })
    } else if (item.type === 'assistant' && !item.regeneration) {
      const { messageId, seq, at, status, finishReason } = item
      const object = item.object === undefined ? {} : { object: item.object }
      const withheld = item.withheld ? { withheld: item.withheld } : {}
      const parts = item.parts.flatMap((part) => viewPart(part, turn.calls))
      const written = { messageId, seq, at, status, finishReason, parts, ...object, ...withheld }
      messages.push({ role: 'assistant', turnId: turn.turnId, ...written, ...marksOf(item) })
    }
  }
  return messages
}

function viewPart(
  part: Extract<TurnState['items'][number], { type: 'assistant' }>['parts'][number],
  calls: readonly CallState[],
): ViewPart[] {
  if (part.type !== 'call') return [part]
  const call = calls[callPosition(calls, part.callId)]
  return call ? [viewCall(call)] : []
}

function viewCall(call: CallState): ViewCall {
  const phase = callPhase(call)
  const { callId, name, args, executor } = call
  const edited = call.rounds.findLast((round) => round.resolution?.edited)?.resolution?.edited
  return {
    type: 'call',
    callId,
    name,
    args,
    executor,
    phase: shownPhase(phase.type),
    end: phase.type === 'ended' ? phase.end : null,
    ...(edited ? { edited } : {}),
    ...descriptionIn(call),
    ...restoredFromIn(call),
    ...leftOutIn(call),
  }
}

type Marked = { readonly restoredAt?: number; readonly leftOut?: number }

function marksOf({ restoredAt, leftOut }: Marked): { restored?: true; leftOut?: number } {
  return { ...(restoredAt !== undefined && { restored: true }), ...(leftOut && { leftOut }) }
}

function variantsIn(
  { replaced, firstSeq }: TurnState,
  { seq }: UserItem,
): Pick<ViewUserMessage, 'variants' | 'previousSeq'> {
  return replaced && seq === firstSeq ? { variants: replaced.variants, previousSeq: replaced.previousSeq } : {}
}

function doneBeforeIn(turn: TurnState, call: CallState): Pick<PendingItem, 'doneBefore'> {
  const before = doneBefore(turn, call)
  return before ? { doneBefore: before } : {}
}

function descriptionIn({ description }: CallState, prompt?: Json): { description?: string } {
  return description === undefined ? describedBy(prompt) : { description }
}

/** A prompt that is text describes the call, if its tool does not. */
export function describedBy(prompt: Json | undefined): { description?: string } {
  return typeof prompt === 'string' && prompt !== '' ? { description: prompt } : {}
}

function restoredFromIn({ restoredFrom }: CallState): { restoredFrom?: string } {
  return restoredFrom === undefined ? {} : { restoredFrom }
}

function leftOutIn(call: CallState): { leftOut?: LeftOut } {
  const bytes = leftOutOf(call)
  if (bytes === 0) return {}
  const asked = call.rounds.flatMap(({ seq, resolution }) => [seq, ...(resolution ? [resolution.seq] : [])])
  return { leftOut: { bytes, seqs: [call.seq, ...asked, ...(call.result ? [call.result.seq] : [])] } }
}

function shownPhase(phase: ReturnType<typeof callPhase>['type']): ViewCall['phase'] {
  if (phase === 'ended') return phase
  if (phase === 'pending') return 'waiting'
  return phase === 'started' ? 'running' : 'queued'
}

/** Trims a view to its newest messages: about `maxBytes` of its log. Returns the same object when it fits. */
export function trimView(view: View, maxBytes: number): View {
  const log = trimState(view.log, maxBytes)
  if (log === view.log) return view
  const { unknownEvent } = view
  return { ...viewOf(view.conversationId, log, view), ...(unknownEvent ? { unknownEvent } : {}) }
}

/**
 * The child agents of a conversation and their descendants: which wait, and for what. `stateOf` returns null for a child that does not exist yet or is not
 * known. Every pending call is listed; where they would take more than about `maxBytes`, long fields are cut to their beginnings.
 */
export function childrenOf(
  conversationId: string,
  state: ConversationState,
  stateOf: (childId: string) => ConversationState | null,
  maxBytes: number = shownBytes / 4,
): Children {
  const waiting: string[] = []
  const pending: PendingItem[] = []
  const calls = childCalls(state)
  // Half for the child itself, half for its descendants.
  const share = maxBytes / calls.length / 2
  for (const { callId } of calls) {
    const childId = childIdOf(callId)
    const child = stateOf(childId)
    if (!child) continue
    const below = childrenOf(childId, child, stateOf, share)
    const items = [...pendingItems(childId, trimState(child, share)), ...below.pending]
    pending.push(...items.map((item) => ({ ...item, path: [{ conversationId, callId }, ...item.path] })))
    if (isWaiting(child, below)) waiting.push(callId)
  }
  return { waiting, pending }
}

export function withChildren(view: View, children: Children): View {
  return viewOf(view.conversationId, view.log, { ...view, children })
}
