import { PerdureError } from '../base/errors/perdure-error.ts'
import { type CallPhase, callPhase, deadlineOf, effectiveArgs, interruptedEnd } from '../log/call-phase.ts'
import { decode, encode } from '../log/codec.ts'
import type { LogEvent, NewEvent } from '../log/events.ts'
import { FlowQuestions } from '../log/flow-questions.ts'
import { type CallEvent, foldCall, isCallEvent, newCall } from '../log/fold-call.ts'
import { foldEvents } from '../log/fold-events.ts'
import { fsmStateOf, statusOf } from '../log/fsm-state.ts'
import type { CallState, ConversationState } from '../log/state.ts'
import { noticeOf } from './change.ts'
import type { StoredCall, StoredConversation, StoredEvent, StoredSummary } from './driver.ts'
import { flowCall } from './flow-call.ts'
import { encodeCall } from './prepare-change.ts'
import { decodeEvent, encodeNotice } from './rows.ts'

/** What a driver reads for a fork. */
export type ForkSource = {
  readonly conversation: StoredConversation
  /** The latest summary with `toSeq <= at`. */
  readonly summary: StoredSummary | null
  /** The events after the summary, up to and including `at`. */
  readonly events: readonly StoredEvent[]
  readonly pending: readonly StoredCall[]
  readonly at: number
  /** The agent and the owner of the copy; null: the source's. */
  readonly agent: string | null
  readonly owner: string | null
}

/** What a driver writes for a fork. */
export type ForkPlan = {
  /** Copied events whose content differs in the fork. All others are copied unchanged, with their `at`. */
  readonly replaced: readonly { readonly seq: number; readonly content: string }[]
  /** Appended after the copied events, with the time of the fork. */
  readonly appended: readonly { readonly type: string; readonly content: string }[]
  /** Rows of the calls that are still open, with the deadlines of the copied events. */
  readonly calls: readonly StoredCall[]
  readonly conversation: Pick<
    StoredConversation,
    'kind' | 'agent' | 'owner' | 'status' | 'settings' | 'fsmState' | 'title' | 'parent'
  >
}

/**
 * Plans a fork. Open calls get new ids, so that an answer in one conversation never reaches the other. A call that was started, that a child agent works on, or
 * that was approved, belongs to the source and is closed as unknown.
 */
export function planFork(source: ForkSource, newId: string, freshId: () => string): ForkPlan {
  const { conversation, at } = source
  const events = source.events.map((event) => decodeEvent(newId, event))
  const open = openCalls(events)
  const logged = loggedCallIds(events)
  const isUnlogged = (row: StoredCall) => !logged.has(row.id) && row.kind !== 'flow'
  const unlogged = at === conversation.lastSeq ? source.pending.filter(isUnlogged) : []
  const fresh = new Map([...open.keys(), ...unlogged.map((row) => row.id)].map((callId) => [callId, freshId()]))
  const renamed = events.map((event) => rename(event, fresh))
  const appended: NewEvent[] = []
  const calls: StoredCall[] = []
  const rows = new Map(source.pending.map((row) => [row.id, row]))
  for (const [callId, call] of open) {
    const phase = callPhase(call)
    if (isOfSource(call, phase))
      appended.push({ type: 'tool_result', content: { callId: fresh.get(callId)!, ...interruptedEnd } })
    else if (phase.type === 'pending') calls.push(rowOf(call, newId, fresh.get(callId)!, rows.get(callId)))
  }
  for (const row of unlogged) calls.push({ ...row, id: fresh.get(row.id)!, conversationId: newId })
  const isFlow = conversation.kind === 'flow'
  if (isFlow) calls.push(...questionRows(events, newId))
  const fsmState = isFlow ? null : foldedState(source.summary, [...renamed, ...placed(appended, newId, at)])
  return {
    replaced: renamed
      .filter((event, index) => event !== events[index])
      .map(({ seq, content }) => ({ seq, content: encode(content) })),
    appended: appended.map(({ type, content }) => ({ type, content: encode(content) })),
    calls,
    conversation: {
      kind: conversation.kind,
      agent: source.agent ?? conversation.agent,
      owner: source.owner ?? conversation.owner,
      status: isFlow ? sessionStatus(events) : fsmState ? statusOf(fsmState.state) : 'idle',
      settings: conversation.settings,
      fsmState: fsmState && encode(fsmState),
      title: conversation.title,
      parent: encode({ id: conversation.id, at }),
    },
  }
}

/** An approval lets a call run once, and the source may run it. What a page or a person does is asked for again in the copy. */
function isOfSource({ executor, rounds }: CallState, phase: CallPhase): boolean {
  if (phase.type === 'started' || (phase.type === 'pending' && phase.round.kind === 'sub_agent')) return true
  if (!rounds.some(({ kind, resolution }) => kind === 'approval' && resolution?.status === 'resolved')) return false
  if (phase.type === 'pending') return phase.round.kind === 'recovery' || phase.round.toolState !== undefined
  return executor !== 'client' && executor !== 'human'
}

/** What a session had asked and was not answered. A summary of a session starts a fresh record, in which nothing is open. */
function questionRows(events: readonly LogEvent[], newId: string): StoredCall[] {
  const questions = new FlowQuestions()
  for (const event of events) questions.event(event)
  return questions.open().map((question) => {
    const write = encodeCall(flowCall(newId, question))
    const { expiresInMs: _, ...row } = write
    const times = { expiresAt: null, createdAt: question.at, resolvedAt: null, resolvedSeq: null }
    return { ...row, ...times, conversationId: newId }
  })
}

/** A fork of a session that had not ended is idle until it is continued. */
function sessionStatus(events: readonly LogEvent[]): 'ended' | 'failed' | 'idle' {
  const ended = events.find((event) => event.type === 'flow_ended')
  if (!ended) return 'idle'
  return ended.content.status === 'failed' ? 'failed' : 'ended'
}

/** The end of a turn closes all its calls, and a summary ends with a turn, so open calls started after it. */
function openCalls(events: readonly LogEvent[]): Map<string, CallState> {
  const calls = new Map<string, CallState>()
  for (const event of events) {
    if (event.type === 'tool_call') calls.set(event.content.callId, newCall(event))
    else if (isCallEvent(event)) {
      const call = calls.get(event.content.callId)
      if (call) calls.set(call.callId, foldCall(call, event))
    }
  }
  for (const [callId, call] of calls) if (callPhase(call).type === 'ended') calls.delete(callId)
  return calls
}

/** A row that the application wrote beside the log is still unlogged when only its deadline was moved. */
function loggedCallIds(events: readonly LogEvent[]): Set<string> {
  const callIds = new Set<string>()
  for (const event of events) {
    if (event.type === 'deadline_moved') continue
    if (event.type === 'tool_call' || isCallEvent(event)) callIds.add(event.content.callId)
  }
  return callIds
}

function rename(event: LogEvent, fresh: ReadonlyMap<string, string>): LogEvent {
  if (event.type === 'tool_call' || isCallEvent(event)) {
    const callId = fresh.get(event.content.callId)
    return callId ? ({ ...event, content: { ...event.content, callId } } as LogEvent & CallEvent) : event
  }
  if (event.type !== 'assistant_msg' || !Array.isArray(event.content.parts)) return event
  const { parts } = event.content
  if (!parts.some((part) => part.type === 'call' && fresh.has(part.callId))) return event
  const renamed = parts.map((part) =>
    part.type === 'call' ? { ...part, callId: fresh.get(part.callId) ?? part.callId } : part,
  )
  return { ...event, content: { ...event.content, parts: renamed } }
}

/** The source's row when it is in the same round, else what the log says. The deadline is what the copied events say. */
function rowOf(call: CallState, conversationId: string, id: string, row: StoredCall | undefined): StoredCall {
  const round = call.rounds.at(-1)!
  const expiresAt = deadlineOf(round)
  if (row?.round === round.round) return { ...row, id, conversationId, expiresAt }
  return {
    id,
    conversationId,
    name: encode(call.name),
    executor: call.executor,
    status: 'pending',
    args: encode(effectiveArgs(call)),
    result: null,
    round: round.round,
    kind: round.kind,
    prompt: encode(round.prompt),
    notice: encodeNotice(noticeOf(call, round)),
    expiresAt,
    createdAt: round.at,
    resolvedAt: null,
    resolvedSeq: null,
    meta: null,
  }
}

function placed(events: readonly NewEvent[], conversationId: string, at: number): LogEvent[] {
  return events.map((event, index) => ({ ...event, conversationId, seq: at + 1 + index, at: 0 }))
}

/** Null when the log cannot be folded from the rows at hand. The copy is then as good as its source, and the state is only a cache. */
function foldedState(summary: StoredSummary | null, events: readonly LogEvent[]) {
  try {
    if (events.some((event) => event.type.startsWith('flow_'))) return null
    if (summary && !summary.base) return null
    const base = summary ? (decode(summary.base!) as unknown as ConversationState) : undefined
    return fsmStateOf(foldEvents(events, base))
  } catch (error) {
    if (PerdureError.isInstance(error) || error instanceof TypeError) return null
    throw error
  }
}
