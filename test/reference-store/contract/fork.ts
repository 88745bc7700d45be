import type { JsonObject } from '../../../src/base/json.ts'
import type { FlowOp } from '../../../src/log/events.ts'
import type { Span } from '../compare/span.ts'
import { type CallState, callStates, openCalls } from './call-states.ts'
import { type Call, type Conversation, type Event, newConversation, Refused, type Tenant } from './state.ts'

/** The source and where to cut, or what the contract answers instead. */
export function forkSource(tenant: Tenant, id: string, newId: string, at: number | undefined) {
  const source = tenant.conversations.get(id)
  if (!source) throw new Refused('conversation_not_found')
  if (tenant.conversations.has(newId)) throw new Refused('conversation_exists')
  if (at !== undefined && at > source.events.length) throw new Refused('invalid_argument')
  return { source, at: at ?? source.events.length }
}

/**
 * Whether the contract says what a fork of it holds: a pending row is either told by the log or not mentioned in it at all. A row that the
 * log has seen answered and that was opened again behind its back is neither.
 */
export function canFork(tenant: Tenant, source: Conversation): boolean {
  const states = callStates(source.events)
  return pendingRows(tenant, source.id).every((row) => {
    const state = states.get(row.id)
    if (state) return state.pending?.round === row.round && !state.isEnded
    return !source.events.some(
      ({ type, content }) => type !== 'deadline_moved' && (content as { callId?: string }).callId === row.id,
    )
  })
}

/** Pending rows that no event tells of; they come along only when the whole log does. */
export function unloggedRows(tenant: Tenant, source: Conversation, at: number): Call[] {
  if (at !== source.events.length) return []
  const states = callStates(source.events)
  return pendingRows(tenant, source.id).filter(({ id, kind }) => !states.has(id) && kind !== 'flow')
}

/** `fresh` gives each open call its id in the fork; `interrupted` is how the store words the end of a call it closes. */
export function fork(
  tenant: Tenant,
  source: Conversation,
  { newId, at, owner, fresh, interrupted, now }: ForkFacts,
): Conversation {
  const copy = newConversation(newId, now)
  copy.owner = owner ?? source.owner
  const copied = source.events.slice(0, at)
  copy.events = copied.map((event) => rename(event, fresh))
  for (const state of openCalls(copied)) {
    const callId = fresh.get(state.call.callId)!
    if (isOfSource(state)) {
      copy.events.push({ type: 'tool_result', content: { callId, ...interrupted }, at: now.copy() })
    } else if (state.pending) {
      const { round, kind, prompt, doneBefore, at: askedAt } = state.pending
      const row = tenant.calls.get(state.call.callId)
      const isSameRound = row?.status === 'pending' && row.round === round
      const { name, executor, args, description } = state.call
      const told = { ...(description === undefined ? {} : { description }), ...(doneBefore ? { doneBefore } : {}) }
      const notice = Object.keys(told).length > 0 ? told : null
      const expiresAt = state.deadline?.copy() ?? null
      const logged = { name, executor, status: 'pending', args, result: null, round, kind, prompt } as const
      const asLogged = { ...logged, expiresAt, createdAt: askedAt, resolvedAt: null, notice, meta: null }
      const kept: Omit<Call, 'id' | 'conversationId'> = row && isSameRound ? { ...row, expiresAt } : asLogged
      tenant.calls.set(callId, { ...kept, id: callId, conversationId: newId })
    }
  }
  for (const row of unloggedRows(tenant, source, at)) {
    tenant.calls.set(fresh.get(row.id)!, { ...row, id: fresh.get(row.id)!, conversationId: newId })
  }
  const isSession = source.kind === 'flow'
  const summarisedTo = Math.max(0, ...[...source.summaries.keys()].filter((toSeq) => toSeq <= at))
  for (const row of isSession ? questionRows(copied, summarisedTo, newId) : []) tenant.calls.set(row.id, row)
  for (const summary of source.summaries.values()) {
    if (summary.toSeq <= at) copy.summaries.set(summary.toSeq, summary)
  }
  for (const { references } of tenant.blobs.values()) {
    const firstSeq = references.get(source.id)
    if (firstSeq !== undefined && firstSeq <= at) references.set(newId, firstSeq)
  }
  const { kind, agent, settings, title } = source
  Object.assign(copy, { kind, agent, settings, title, parent: { id: source.id, at }, isDormant: true })
  tenant.conversations.set(newId, copy)
  copy.toldSeq = copy.events.length
  return copy
}

/** Started, worked on by a child agent, or approved: an approval lets a call run once, unless it is a page or a person that does it. */
function isOfSource({ call, isStarted, isApproved, pending }: CallState): boolean {
  if (pending) return pending.kind === 'sub_agent' || (isApproved && pending.kind === 'recovery')
  return isStarted || (isApproved && call.executor !== 'client' && call.executor !== 'human')
}

/** What a session had asked since its last summary, and was not answered. Positions count from 1, anew with each fresh record. */
function questionRows(copied: readonly Event[], summarisedTo: number, newId: string): Call[] {
  let opened = 0
  let hasEnded = false
  const open = new Map<number, Call>()
  for (const [index, { type, content, at }] of copied.entries()) {
    if (index < summarisedTo || hasEnded) continue
    const { position, op } = content as { position?: number; op?: FlowOp }
    if (type === 'flow_opened' && position === opened + 1) {
      opened += 1
      if (op?.kind === 'suspend') open.set(position, questionRow(newId, index + 1, op, at))
    }
    if (type === 'flow_outcome') open.delete(position!)
    if (type === 'flow_continued' || type === 'flow_ended') {
      open.clear()
      opened = 0
    }
    hasEnded = type === 'flow_ended'
  }
  return [...open.values()]
}

function questionRow(conversationId: string, seq: number, op: Extract<FlowOp, { kind: 'suspend' }>, at: Span): Call {
  const id = `flow:${conversationId}:${seq}`
  const asked = {
    name: 'suspend',
    executor: 'human',
    kind: 'flow',
    round: seq,
    args: op.tag,
    prompt: op.schema ?? null,
  }
  const times = { expiresAt: null, createdAt: at.copy(), resolvedAt: null }
  return { id, conversationId, status: 'pending', result: null, notice: null, meta: null, ...asked, ...times } as Call
}

/** How a fork of a session that had ended is listed; null where it had not. */
export function endOfSession(copy: Conversation): 'ended' | 'failed' | null {
  if (copy.kind !== 'flow') return null
  const summarisedTo = Math.max(0, ...copy.summaries.keys())
  const end = copy.events.slice(summarisedTo).find(({ type }) => type === 'flow_ended')
  if (!end) return null
  return (end.content as { status: string }).status === 'failed' ? 'failed' : 'ended'
}

export type ForkFacts = {
  readonly newId: string
  readonly at: number
  readonly owner?: string | undefined
  readonly fresh: ReadonlyMap<string, string>
  readonly interrupted: JsonObject
  readonly now: Span
}

function pendingRows(tenant: Tenant, id: string): Call[] {
  return [...tenant.calls.values()].filter((call) => call.conversationId === id && call.status === 'pending')
}

function rename(event: Event, fresh: ReadonlyMap<string, string>): Event {
  const content = event.content as { callId?: string; parts?: readonly { type: string; callId?: string }[] }
  if (event.type === 'assistant_msg' && Array.isArray(content.parts)) {
    const parts = content.parts.map((part) =>
      part.type === 'call' && fresh.has(part.callId ?? '') ? { ...part, callId: fresh.get(part.callId!) } : part,
    )
    return { ...event, content: { ...content, parts } }
  }
  const callId = fresh.get(content.callId ?? '')
  return callId === undefined ? event : { ...event, content: { ...content, callId } }
}
