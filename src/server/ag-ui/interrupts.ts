import type { Interrupt } from '@ag-ui/core'
import { withDeadline } from '../../base/abort.ts'
import { InvalidAnswerError } from '../../base/errors/definition-errors.ts'
import { InvalidRequestError, ResumeIncompleteError } from '../../base/errors/server-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { SuspensionKind } from '../../log/events.ts'
import { findCall } from '../../log/state.ts'
import { doneBeforeText } from '../../log/superseded.ts'
import type { Answered } from '../../runtime/answer-call.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { PendingItem, View } from '../../view/view.ts'
import type { RouteCall } from '../route.ts'
import { roundId } from '../ui/ui-call-of.ts'
import type { AgUiEvent } from './ag-ui-event.ts'
import { type ClaimedMessage, claimedResults, type ResumeEntry } from './run-input.ts'

/** A client tool of the conversation itself: its result comes as a tool message. All else that waits is an interrupt. */
function isClientCall({ kind, conversationId }: PendingItem, view: View): boolean {
  return kind === 'client_exec' && conversationId === view.conversationId
}

export function clientCallsOf(view: View): string[] {
  return view.pending.filter((item) => isClientCall(item, view)).map(({ callId }) => callId)
}

/** `answered`: the view of a parent may still have what a child agent was just told. */
export function interruptsOf(view: View, answered: ReadonlySet<string>): Interrupt[] {
  const open = interruptItems(view).filter(({ callId, round }) => !answered.has(roundId(callId, round)))
  return open.map((item) => {
    const { kind, tool, args, prompt, conversationId, callId, round, expiresAt, doneBefore } = item
    const before = doneBefore ? doneBeforeText[doneBefore.outcome] : undefined
    const said = item.description ?? (typeof prompt === 'string' ? prompt : undefined)
    // Clients show the message, and need not look at the metadata.
    const message = [before, said].filter((words) => words !== undefined).join(' ')
    const schema = kind === 'approval' ? approvalSchema : item.schema
    const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema)
    return {
      id: roundId(callId, round),
      reason: kind === 'approval' ? 'tool_call' : 'input_required',
      toolCallId: callId,
      ...(message === '' ? {} : { message }),
      ...(isObject ? { responseSchema: schema } : {}),
      ...(expiresAt === null ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      metadata: { kind, tool, args, prompt, conversationId, ...(doneBefore ? { doneBefore } : {}) },
    }
  })
}

function interruptItems(view: View): PendingItem[] {
  return view.pending.filter((item) => !isClientCall(item, view))
}

const approvalSchema: JsonObject = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Of a denial; the model reads it.' },
    args: { description: 'The call runs with these instead.' },
  },
  required: ['approved'],
}

export type Answering = {
  readonly call: RouteCall
  readonly conversation: Conversation
  /** As it was before the answers. */
  readonly view: View
  readonly runId: string
}

export type GivenAnswers = { readonly late: readonly AgUiEvent[]; readonly answered: ReadonlySet<string> }

export const noAnswers: GivenAnswers = { late: [], answered: new Set() }

/** An interrupt that a run answers. `kind` is null if the question is no longer known here. */
type Asked = { readonly callId: string; readonly round: number; readonly kind: SuspensionKind | null }

/**
 * Answers every open interrupt. A late answer is not an error: the events show how the call was answered instead. A
 * repeated run is not late, because the run is part of the key.
 */
export async function answerInterrupts(answering: Answering, resume: readonly ResumeEntry[]): Promise<GivenAnswers> {
  const { call, conversation, view, runId } = answering
  const open = new Map(interruptItems(view).map((item) => [roundId(item.callId, item.round), item]))
  const given = new Set(resume.map(({ interruptId }) => interruptId))
  if (given.size < resume.length) throw new InvalidRequestError('body', "'resume' answers an interrupt twice")
  const missing = [...open.keys()].filter((id) => !given.has(id))
  if (missing.length > 0) throw new ResumeIncompleteError(view.conversationId, missing)
  const entries = resume.map((entry) => ({ entry, asked: open.get(entry.interruptId) ?? askedBefore(view, entry) }))
  for (const { entry, asked } of entries) if (asked.kind === 'approval') readApproval(entry)
  // A question has no answer that says no, so giving it up ends the turn that asks it.
  if (entries.some(({ entry, asked }) => open.has(entry.interruptId) && isGivenUp(entry, asked))) {
    const { limits } = call.server.settings
    await withDeadline((signal) => conversation.cancel({ signal }), limits.waitMs, call.request.signal)
    return noAnswers
  }
  const late: AgUiEvent[] = []
  for (const { entry, asked } of entries) {
    const answered = await giveAnswer(conversation, asked, entry, `${runId}/${entry.interruptId}`)
    if (answered?.accepted !== true) late.push(lateAnswer(entry, answered))
  }
  return { late, answered: given }
}

/** What an interrupt asked that is not open any more. */
function askedBefore(view: View, { interruptId }: ResumeEntry): Asked {
  const [, callId, round] = /^(.{1,500}):(\d{1,9})$/s.exec(interruptId) ?? []
  if (callId === undefined) {
    throw new InvalidRequestError('body', `'${interruptId.slice(0, 100)}' in 'resume' is no id of an interrupt`)
  }
  const n = Number(round)
  const known = findCall(view.log, callId)?.call.rounds.find((one) => one.round === n)
  return { callId, round: n, kind: known?.kind ?? null }
}

function isGivenUp({ status }: ResumeEntry, { kind }: Asked): boolean {
  return status === 'cancelled' && (kind === 'elicitation' || kind === 'recovery')
}

/** Null: what the answer was to is gone. */
async function giveAnswer(
  conversation: Conversation,
  { kind, ...call }: Asked,
  entry: ResumeEntry,
  key: string,
): Promise<Answered | null> {
  const { callId, round } = call
  const ref = { callId, round }
  const { payload = null } = entry
  switch (kind) {
    case 'approval': {
      const { approved, reason, args } = readApproval(entry)
      if (approved) return conversation.approve(ref, { key, ...(args === undefined ? {} : { args: args as never }) })
      return conversation.deny(ref, { key, ...(reason === undefined ? {} : { reason }) })
    }
    case 'client_exec': {
      const value =
        entry.status === 'resolved' ? { ok: true, result: payload } : { ok: false, error: 'It was declined.' }
      return conversation.answer(ref, value, { key })
    }
    case 'elicitation':
    case 'recovery':
      return isGivenUp(entry, { ...ref, kind }) ? null : conversation.answer(ref, payload, { key })
    case 'sub_agent':
    case null:
      return null
  }
}

type Approval = { readonly approved: boolean; readonly reason?: string; readonly args?: Json }

/** Nothing but `true` approves. */
function readApproval({ interruptId, status, payload }: ResumeEntry): Approval {
  if (status === 'cancelled') return { approved: false }
  if (typeof payload === 'boolean') return { approved: payload }
  const { approved, reason, args } = Object(payload) as JsonObject
  if (typeof approved !== 'boolean') {
    const problem = `the payload for '${interruptId}' must be { approved: true or false, reason?, args? }`
    throw new InvalidRequestError('body', problem)
  }
  return {
    approved,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(args === undefined ? {} : { args }),
  }
}

function lateAnswer({ interruptId }: ResumeEntry, answered: Answered | null): AgUiEvent {
  const resolution = answered?.accepted === false ? answered.resolution : null
  const told = resolution && { status: resolution.status, answeredBy: resolution.who, answeredAt: resolution.at }
  return { type: 'CUSTOM', name: 'perdure.late-answer', value: { interruptId, ...told } }
}

/** Answers the client tools that wait, with the tool messages at the end of the history. Any other claim is ignored. */
export async function answerClientCalls(
  { conversation, view, runId }: Answering,
  messages: readonly ClaimedMessage[],
): Promise<void> {
  const waiting = new Map(view.pending.filter((item) => isClientCall(item, view)).map((item) => [item.callId, item]))
  for (const { toolCallId, content, error } of claimedResults(messages)) {
    const item = waiting.get(String(toolCallId))
    if (!item) continue
    waiting.delete(item.callId)
    const key = `${runId}/${roundId(item.callId, item.round)}`
    if (typeof error === 'string') {
      await conversation.answer(item, { ok: false, error }, { key })
    } else await answerWith(conversation, item, content ?? null, key)
  }
}

/** AG-UI writes structured results as text; a tool whose result is text says so with its schema. */
async function answerWith(conversation: Conversation, item: PendingItem, content: Json, key: string): Promise<void> {
  const parsed = typeof content === 'string' ? parsedOrSame(content) : content
  try {
    await conversation.answer(item, { ok: true, result: parsed }, { key })
  } catch (error) {
    if (!(error instanceof InvalidAnswerError) || parsed === content) throw error
    await conversation.answer(item, { ok: true, result: content }, { key })
  }
}

function parsedOrSame(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
