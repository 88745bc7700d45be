import type { JsonObject } from '../../base/json.ts'
import { callPhase, deadlineOf, effectiveArgs } from '../../log/call-phase.ts'
import { type CallState, findTurn, type Round } from '../../log/state.ts'
import type { Answered, WinningResolution } from '../../runtime/answer-call.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { PendingItem, View } from '../../view/view.ts'
import { type ClientMessage, type ClientToolPart, toolPart } from './client-message.ts'
import type { CallStage, UiApproval, UiCall, UiChunk, UiQuestion } from './ui-turn.ts'

export function uiCallOf(call: CallState, providerMetadata?: JsonObject): UiCall {
  return {
    kind: 'call',
    key: call.callId,
    name: call.name,
    input: effectiveArgs(call),
    stage: stageOf(call),
    approval: approvalOf(call),
    isForPage: isForPage(call),
    isProviderRun: false,
    ...(providerMetadata ? { providerMetadata } : {}),
  }
}

/** Names one round of a call, so a second click cannot answer the next round. */
export function roundId(callId: string, round: number): string {
  return `${callId}:${round}`
}

/** The questions asked about calls, in the order in which they were asked. */
export function questionsOf(calls: readonly CallState[]): UiQuestion[] {
  const asked = calls.flatMap((call) => call.rounds.map((round) => ({ call, round })))
  return asked
    .filter(({ round }) => ['approval', 'elicitation', 'recovery'].includes(round.kind))
    .sort((one, other) => one.round.seq - other.round.seq)
    .map(({ call, round }) => questionOf(call, round))
}

function questionOf({ callId, name, description }: CallState, round: Round): UiQuestion {
  const { round: n, kind, prompt, schema, doneBefore, resolution } = round
  const expiresAt = deadlineOf(round)
  const answered = resolution ? { answeredBy: resolution.who, answeredAt: resolution.at } : {}
  const status = resolution?.status ?? 'open'
  return {
    kind: 'question',
    key: roundId(callId, n),
    data: {
      callId,
      round: n,
      kind,
      tool: name,
      ...(description === undefined ? {} : { description }),
      ...(doneBefore ? { doneBefore } : {}),
      prompt,
      schema,
      expiresAt,
      status,
      ...answered,
    },
  }
}

function stageOf(call: CallState): CallStage {
  const phase = callPhase(call)
  switch (phase.type) {
    case 'ended':
      if (phase.end.ok) return { type: 'output', output: phase.end.result }
      return isDenied(call) ? { type: 'denied' } : { type: 'error', errorText: phase.end.error }
    case 'pending':
      return { type: phase.round.kind === 'approval' ? 'asked' : 'awaited' }
    case 'unasked':
      return { type: isForPage(call) ? 'held' : 'ready' }
    case 'ready':
    case 'started':
    case 'recovered':
      return { type: 'ready' }
  }
}

function isForPage({ executor }: CallState): boolean {
  return executor === 'client' || executor === 'human'
}

function isDenied(call: CallState): boolean {
  return !call.result && approvalOf(call)?.approved === false
}

function approvalOf({ callId, rounds }: CallState): UiApproval | null {
  const asked = rounds.findLast(({ kind }) => kind === 'approval')
  if (!asked) return null
  const { resolution } = asked
  const id = roundId(callId, asked.round)
  if (resolution?.status === 'resolved') return { id, approved: resolution.value !== false }
  if (resolution?.status !== 'denied') return { id, approved: null }
  const reason = (resolution.value as { reason?: unknown } | null)?.reason
  return { id, approved: false, ...(typeof reason === 'string' ? { reason } : {}) }
}

/**
 * Answers waiting calls with what the page claims about them, and ignores every other claim. A late answer is not an
 * error: the stream shows how the call was answered, and the returned chunks say who did. Throws when an answer does not
 * fit the question; earlier answers stand. With a `key`, a request that is repeated is not late.
 */
export async function answerClaims(
  conversation: Conversation,
  view: View,
  message: ClientMessage,
  key?: string,
): Promise<UiChunk[]> {
  const late: UiChunk[] = []
  for (const part of message.parts) {
    const claim = toolPart(part)
    if (!claim) continue
    const pending = view.pending.find((item) => isAbout(item, claim, view, message.id))
    const asked = pending ?? answeredRound(view, message, claim)
    const answered = asked && (await answer(conversation, asked, claim, key))
    if (asked && answered?.accepted === false) late.push(lateAnswer(asked, answered.resolution))
  }
  return late
}

/** Calls of child agents are answered in their own conversations. */
function isAbout(item: PendingItem, { toolCallId }: ClientToolPart, view: View, turnId: string): boolean {
  return item.conversationId === view.conversationId && item.callId === toolCallId && item.turnId === turnId
}

type Asked = Pick<PendingItem, 'callId' | 'round' | 'kind'>

/** The round that a claim is about, where it was answered before and the page does not know. */
function answeredRound(view: View, { id: turnId, parts }: ClientMessage, claim: ClientToolPart): Asked | null {
  const call = findTurn(view.log, turnId)?.calls.find(({ callId }) => callId === claim.toolCallId)
  const round = call?.rounds.at(-1)
  if (!call || !round?.resolution) return null
  const { callId } = call
  const { kind, round: n } = round
  const question = parts.find(({ type, id }) => type === 'data-question' && id === roundId(callId, n))
  const isOpen = (Object(question?.['data']) as { status?: unknown }).status === 'open'
  // Only the page itself puts a call into this state.
  const isClaimed = kind === 'approval' ? claim.state === 'approval-responded' : claim.state === 'output-available'
  return isOpen && isClaimed ? { callId, round: n, kind } : null
}

function lateAnswer({ callId, round, kind }: Asked, { status, who, at }: WinningResolution): UiChunk {
  const data = { callId, round, kind, status, answeredBy: who, answeredAt: at }
  return { type: 'data-late-answer', id: roundId(callId, round), data, transient: true }
}

/** Null if the claim is not an answer. */
async function answer(
  conversation: Conversation,
  item: Asked,
  claim: ClientToolPart,
  key: string | undefined,
): Promise<Answered | null> {
  const { approval, state, output, errorText } = claim
  const call = { callId: item.callId, round: item.round }
  const once = key === undefined ? {} : { key: `${key}/${roundId(item.callId, item.round)}` }
  switch (item.kind) {
    case 'approval': {
      const isThisRound = approval?.id === roundId(item.callId, item.round)
      if (!isThisRound || approval.approved === null) return null
      if (approval.approved) return conversation.approve(call, once)
      return conversation.deny(call, { ...once, ...(approval.reason === undefined ? {} : { reason: approval.reason }) })
    }
    case 'client_exec': {
      if (state === 'output-available') return conversation.answer(call, { ok: true, result: output ?? null }, once)
      if (state !== 'output-error') return null
      return conversation.answer(call, { ok: false, error: String(errorText ?? '') }, once)
    }
    case 'elicitation':
    case 'recovery':
      return state === 'output-available' ? conversation.answer(call, output ?? null, once) : null
    case 'sub_agent':
      return null
  }
}

/**
 * The chunks that bring a call on a page up to date. A page runs a client tool as soon as its input is available. So
 * the input of a call that must not run now is sent as if it were still being written.
 */
export function callChunks(before: UiCall | null, after: UiCall, isV7: boolean): UiChunk[] {
  if (!before || before.stage.type === 'writing') return wholeCall(before, after, isV7)
  const chunks: UiChunk[] = []
  const isClaimed = before.approval?.id === after.approval?.id && before.approval?.approved !== after.approval?.approved
  const isWrong = isClaimed && before.approval?.approved !== null
  if (after.approval && (before.approval?.id !== after.approval.id || isWrong)) chunks.push(asking(after))
  const isAnswered = isClaimed && after.approval?.approved !== null
  if (isV7 && (isAnswered || chunks.length > 0)) chunks.push(...answered(after))
  const isAskedAnew = chunks.length > 0 && after.stage.type === 'asked'
  if (isAskedAnew || (chunks.length === 0 && isSameStage(before, after))) return chunks
  return [...chunks, ...stageChunks(after, isV7 && after.approval?.approved === true)]
}

function wholeCall(before: UiCall | null, after: UiCall, isV7: boolean): UiChunk[] {
  const { stage } = after
  if (stage.type === 'writing') return written(before, after, stage.text)
  if (stage.type === 'refused')
    return [{ type: 'tool-input-error', ...inputOf(after), input: after.input, errorText: stage.errorText }]
  const isAsked = after.approval !== null
  const isAwaited = stage.type === 'awaited'
  const input = after.isForPage && (isAsked || !isAwaited) ? held(after) : [available(after)]
  const isInput = isAwaited || stage.type === 'ready' || stage.type === 'held'
  if (!isAsked) return isInput ? input : [...input, ...stageChunks(after, false)]
  const replies = isV7 ? answered(after) : []
  return [
    ...input,
    asking(after),
    ...replies,
    ...(stage.type === 'asked' ? [] : stageChunks(after, replies.length > 0)),
  ]
}

/** `isTold`: another chunk has already said that the call continues. */
function stageChunks(call: UiCall, isTold: boolean): UiChunk[] {
  const { stage, key: toolCallId } = call
  const run = call.isProviderRun ? ({ providerExecuted: true } as const) : {}
  switch (stage.type) {
    case 'awaited':
      return [available(call)]
    case 'ready':
      return isTold ? [] : [available(call)]
    case 'held':
      return isTold ? [] : held(call)
    case 'asked':
      return [asking(call)]
    case 'denied':
      return [{ type: 'tool-output-denied', toolCallId }]
    case 'output':
      return [{ type: 'tool-output-available', toolCallId, output: stage.output, ...run }]
    case 'error':
      return [{ type: 'tool-output-error', toolCallId, errorText: stage.errorText, ...run }]
    case 'writing':
    case 'refused':
      return []
  }
}

function written(before: UiCall | null, after: UiCall, text: string): UiChunk[] {
  const shown = before?.stage.type === 'writing' ? before.stage.text.length : 0
  const start: UiChunk[] = before ? [] : [starting(after)]
  if (text.length === shown) return start
  return [...start, { type: 'tool-input-delta', toolCallId: after.key, inputTextDelta: text.slice(shown) }]
}

function held(call: UiCall): UiChunk[] {
  const inputTextDelta = JSON.stringify(call.input)
  return [starting(call), { type: 'tool-input-delta', toolCallId: call.key, inputTextDelta }]
}

function starting({ key: toolCallId, name: toolName, isProviderRun }: UiCall): UiChunk {
  return {
    type: 'tool-input-start',
    toolCallId,
    toolName,
    ...(isProviderRun ? { providerExecuted: true as const } : {}),
  }
}

function available(call: UiCall): UiChunk {
  return { type: 'tool-input-available', ...inputOf(call), input: call.input }
}

function asking({ key, approval }: UiCall): UiChunk {
  return { type: 'tool-approval-request', toolCallId: key, approvalId: approval?.id ?? key }
}

function answered({ approval }: UiCall): UiChunk[] {
  if (!approval || approval.approved === null) return []
  const { id, approved, reason } = approval
  return [{ type: 'tool-approval-response', approvalId: id, approved, ...(reason === undefined ? {} : { reason }) }]
}

function inputOf({ key, name, isProviderRun, providerMetadata }: UiCall) {
  return {
    toolCallId: key,
    toolName: name,
    ...(isProviderRun ? { providerExecuted: true as const } : {}),
    ...(providerMetadata ? { providerMetadata } : {}),
  }
}

function isSameStage(before: UiCall, after: UiCall): boolean {
  return textOf(before.stage) === textOf(after.stage) && JSON.stringify(before.input) === JSON.stringify(after.input)
}

function textOf(stage: CallStage): string {
  return JSON.stringify(stage)
}
