import type { Json } from '../../../src/base/json.ts'
import type { DeadlineMoved, Resolution, Superseded } from '../../../src/log/events.ts'
import type { Change } from '../../../src/store/change.ts'
import type { ConversationAttrs, ToolCallWrite } from '../../../src/store/records.ts'
import type { Span } from '../compare/span.ts'
import { referTo } from './blobs.ts'
import { isLeased } from './leases.ts'
import { type Call, type Conversation, newConversation, Refused, type Tenant } from './state.ts'

export type Committed =
  /** `isKnown`: by its key, so that nothing was written. */
  | { readonly ok: true; readonly seq: number; readonly isKnown: boolean }
  | {
      readonly ok: false
      readonly conflict: 'seq' | 'epoch' | 'stale'
      readonly lastSeq: number
      /** Seqs of the events that may be told as the winner; none: there must be no winner. */
      readonly winners: readonly number[]
    }

/** That of no event of any log. */
export const timeOfNoEvent = 1

/** Order of checks: key, epoch, expectedSeq, resolve and moved deadline, tombstone. Nothing is written unless all hold. */
export function commit(
  tenant: Tenant,
  id: string,
  given: Change,
  at: Span,
  { creates = canCreate(given), endsCall = false }: { creates?: boolean; endsCall?: boolean } = {},
): Committed {
  refuseContradictions(given)
  refuseWithdrawal(given)
  const change = withTitle(given)
  const move = moveIn(tenant, id, change)
  const known = tenant.conversations.get(id)
  const lastSeq = known?.events.length ?? 0
  const earlier = change.key === undefined ? undefined : known?.keys.get(change.key)
  if (earlier) {
    if (earlier.digest !== change.digest) throw new Refused('key_reused')
    return { ok: true, seq: earlier.seq, isKnown: true }
  }
  if (change.epoch !== undefined && known?.lease?.epoch !== change.epoch) return conflict('epoch', lastSeq)
  if (
    change.epoch === undefined &&
    !endsCall &&
    change.events.some(saysWhatItsOwnerDid) &&
    isOwned(tenant, known, change, at)
  ) {
    throw new Refused('owner_only')
  }
  if (change.expectedSeq !== undefined && change.expectedSeq !== lastSeq) return conflict('seq', lastSeq)
  if (change.expectedAt === timeOfNoEvent) return conflict('seq', lastSeq)
  if (change.expectedAgent !== undefined && change.expectedAgent !== known?.agent) return conflict('seq', lastSeq)
  for (const { callId, round } of change.resolve ?? []) {
    const call = tenant.calls.get(callId)
    const isOpen = call?.conversationId === id && call.status === 'pending' && call.round === round
    if (!isOpen) return { ...conflict('stale', lastSeq), winners: winnersOf(tenant, id, callId, round) }
  }
  if (move && !waits(tenant, id, move)) {
    return { ...conflict('stale', lastSeq), winners: winnersOf(tenant, id, move.callId, move.round) }
  }
  if (!known && !creates) throw new Refused('conversation_not_found')
  for (const call of change.calls ?? []) {
    if ((tenant.calls.get(call.id)?.conversationId ?? id) !== id) throw new Refused('invalid_argument')
  }
  if (lastSeq === 0 && change.events[0]?.type === 'seeded' && tenant.tombstones.has(id))
    throw new Refused('conversation_deleted')
  const conversation = known ?? newConversation(id, at)
  tenant.conversations.set(id, conversation)
  write(tenant, conversation, change, at)
  own(tenant, conversation, change, creates)
  if (move) {
    const expiresAt = move.expiresInMs === null ? null : at.plus(move.expiresInMs)
    tenant.calls.set(move.callId, { ...tenant.calls.get(move.callId)!, expiresAt })
  }
  return { ok: true, seq: conversation.events.length, isKnown: false }
}

/** An owner stays. Else it is the parent's where the change makes it a child, the one that the change names, or who says the first thing in it. */
function own(
  tenant: Tenant,
  conversation: Conversation,
  { events, conversation: attrs, expectedSeq }: Change,
  creates: boolean,
): void {
  if (conversation.owner !== null) return
  const { parent } = attrs ?? {}
  const inherited = parent?.callId === undefined ? null : (tenant.conversations.get(parent.id)?.owner ?? null)
  const first = events.find(({ type }) => type === 'user_msg' || type === 'flow_started')
  const who = (first?.content as { who?: unknown } | undefined)?.who
  const opener = creates && !expectedSeq && isName(who) ? who : null
  conversation.owner = inherited ?? attrs?.owner ?? opener
}

function isName(who: unknown): who is string {
  if (typeof who !== 'string' || !who.isWellFormed()) return false
  const bytes = Buffer.byteLength(who)
  return bytes > 0 && bytes <= 255 && !/\p{Cc}/u.test(who)
}

/** The one deadline that a change may move, alone, and never that of a child agent or of a question of a session. */
function moveIn(tenant: Tenant, id: string, { events, calls = [], resolve = [] }: Change): DeadlineMoved | null {
  const moves = events.filter(({ type }) => type === 'deadline_moved')
  if (moves.length === 0) return null
  if (moves.length > 1 || calls.length + resolve.length > 0) throw new Refused('invalid_argument')
  const move = moves[0]!.content as DeadlineMoved
  if (waits(tenant, id, move) && ['sub_agent', 'flow'].includes(tenant.calls.get(move.callId)!.kind))
    throw new Refused('invalid_argument')
  return move
}

function waits(tenant: Tenant, id: string, { callId, round }: DeadlineMoved): boolean {
  const call = tenant.calls.get(callId)
  return call?.conversationId === id && call.status === 'pending' && call.round === round
}

type Place = { readonly id: string; readonly callId: string }

/** What is unknown or over is left alone, and so is a deadline that is not there to take away. */
export function moveDeadline(tenant: Tenant, { id, callId }: Place, expiresInMs: number | null, at: Span): void {
  const call = tenant.calls.get(callId)
  if (call?.conversationId !== id || call.status !== 'pending') return
  if (expiresInMs === null && call.expiresAt === null) return
  const content = { callId, round: call.round, expiresInMs, who: 'system' }
  commit(tenant, id, { events: [{ type: 'deadline_moved', content }] }, at)
}

/** A title is in the row and in the log, or in neither. */
function withTitle(change: Change): Change {
  const { events, conversation = {} } = change
  const { title } = conversation
  const last = events.findLast(({ type }) => type === 'titled')
  if (last?.type === 'titled') {
    const { title: logged } = last.content
    refuseTitle(logged)
    if (title !== undefined && title !== logged) throw new Refused('invalid_argument')
    return { ...change, conversation: { ...conversation, title: logged } }
  }
  if (title === undefined) return change
  const [first] = events
  if (first?.type === 'seeded' && title === (titleOfSeed(first.content) ?? null)) return change
  refuseTitle(title)
  return { ...change, events: [...events, { type: 'titled', content: { title } }] }
}

function refuseTitle(title: string | null): void {
  if (title !== null && (title.length < 1 || title.length > 1_000)) throw new Refused('invalid_argument')
}

function titleOfSeed({ state }: { state?: Json }): string | undefined {
  const title = typeof state === 'object' && state !== null && 'title' in state ? state['title'] : undefined
  return typeof title === 'string' && title !== '' ? title : undefined
}

/** A row ends as its resolution does. An error is a denial, or the failed result of those who run a call. */
function refuseContradictions({ events, resolve = [] }: Change): void {
  for (const { callId, round, status } of resolve) {
    const event = events.find(
      ({ type, content }) =>
        type === 'resolution' && (content as Resolution).callId === callId && (content as Resolution).round === round,
    )
    if (!event) continue
    const { status: logged, kind } = event.content as Resolution
    const ofErrored = ['client_exec', 'sub_agent'].includes(kind) ? ['denied', 'resolved'] : ['denied']
    if (!(status === 'errored' ? ofErrored : [status]).includes(logged)) throw new Refused('invalid_argument')
  }
}

/** Decided on a known log, from a place in it, with the message that takes the place right after it. */
function refuseWithdrawal({ events, expectedSeq }: Change): void {
  for (const [index, { type, content }] of events.entries()) {
    if (type !== 'superseded') continue
    const { fromSeq, by } = content as Superseded
    const next = events[index + 1]
    const isFollowed = next?.type === 'user_msg' && next.content.turnId === by
    if (expectedSeq === undefined || fromSeq > expectedSeq + index || !isFollowed) throw new Refused('invalid_argument')
  }
}

const openTypes = [
  ...['user_msg', 'resolution', 'cancel_requested', 'superseded', 'titled', 'note', 'deadline_moved', 'seeded'],
  ...['flow_started', 'flow_outcome'],
]

function saysWhatItsOwnerDid({ type, content }: { readonly type: string; readonly content: unknown }): boolean {
  if (type === 'state_set') return (content as { callId?: string }).callId !== undefined
  return !openTypes.includes(type)
}

/** A lease is live, or a call waits that the change does not end. */
function isOwned(tenant: Tenant, known: Conversation | undefined, { resolve = [] }: Change, at: Span): boolean {
  if (!known) return false
  const ended = resolve.map(({ callId }) => callId)
  const waits = ({ id, conversationId, status }: Call) =>
    conversationId === known.id && status === 'pending' && !ended.includes(id)
  return isLeased(known, at) || [...tenant.calls.values()].some(waits)
}

function canCreate({ epoch, events }: Change): boolean {
  return epoch === undefined && events.some(({ type }) => ['user_msg', 'seeded', 'flow_started'].includes(type))
}

function conflict(reason: 'seq' | 'epoch' | 'stale', lastSeq: number): Committed & { ok: false } {
  return { ok: false, conflict: reason, lastSeq, winners: [] }
}

function winnersOf(tenant: Tenant, id: string, callId: string, round: number): number[] {
  if (tenant.calls.get(callId)?.conversationId !== id) return []
  const events = tenant.conversations.get(id)?.events ?? []
  return events.flatMap(({ type, content }, index) => {
    const resolution = content as { callId: string; round: number }
    return type === 'resolution' && resolution.callId === callId && resolution.round === round ? [index + 1] : []
  })
}

function write(tenant: Tenant, conversation: Conversation, change: Change, at: Span): void {
  const firstSeq = conversation.events.length + 1
  for (const { type, content } of change.events) conversation.events.push({ type, content, at: at.copy() })
  if (change.key !== undefined) {
    conversation.keys.set(change.key, { seq: conversation.events.length, digest: change.digest, epoch: null })
  }
  for (const { callId, status, result } of change.resolve ?? []) {
    tenant.calls.set(callId, { ...tenant.calls.get(callId)!, status, result, resolvedAt: at.copy() })
  }
  for (const call of change.calls ?? []) writeCall(tenant, conversation, call, at)
  const { summaries } = conversation
  for (const { type, content } of change.events) {
    if (type !== 'superseded') continue
    for (const toSeq of [...summaries.keys()]) if (toSeq >= content.fromSeq) summaries.delete(toSeq)
  }
  referTo(tenant, conversation.id, change.events as readonly { content: Json }[], firstSeq)
  writeAttrs(conversation, change, at)
  if (change.lease === 'release') conversation.lease = null
  else if (conversation.lease && change.events.some(({ type }) => type === 'turn_ended')) conversation.lease.lapsed = []
}

function writeCall(tenant: Tenant, { id }: Conversation, write: ToolCallWrite, at: Span): void {
  const { id: callId, status = 'pending', expiresInMs = null } = write
  const call: Call = {
    id: callId,
    conversationId: id,
    name: write.name ?? '',
    executor: write.executor ?? 'server',
    status,
    args: write.args ?? null,
    result: write.result ?? null,
    round: write.round ?? 1,
    kind: write.kind ?? 'approval',
    prompt: write.prompt ?? null,
    notice: write.notice ?? null,
    expiresAt: status === 'pending' && expiresInMs !== null ? at.plus(expiresInMs) : null,
    createdAt: tenant.calls.get(callId)?.createdAt ?? at.copy(),
    resolvedAt: status === 'pending' ? null : at.copy(),
    meta: write.meta === undefined ? (tenant.calls.get(callId)?.meta ?? null) : write.meta,
  }
  tenant.calls.set(callId, call)
}

/** Weakest first: what woke it, what its owner found, what the caller says. */
function writeAttrs(conversation: Conversation, change: Change, at: Span): void {
  const { wakeAt } = change
  const isWaking = change.events.some(({ type }) => wakingTypes.includes(type))
  const wakes = wakeAt === undefined ? isWaking : wakeAt !== null
  if (wakes) {
    conversation.wakeAt = at.plus(typeof wakeAt === 'object' && wakeAt ? wakeAt.inMs : 0)
    conversation.isDormant = false
    if (isWaking) conversation.status = 'active'
  } else if (wakeAt === null) conversation.wakeAt = null
  const fsmState = change.fsmState ?? change.conversation?.fsmState
  const knowsTheLog = change.epoch !== undefined || change.expectedSeq !== undefined
  if (change.fsmState && knowsTheLog) {
    conversation.idleSeq = change.fsmState.state === 'idle' ? change.fsmState.lastSeq : 0
  }
  if (fsmState) {
    conversation.fsmState = fsmState
    conversation.status = statuses[fsmState.state]
  }
  assign(conversation, change.conversation ?? {})
  conversation.updatedAt = at.copy()
}

const wakingTypes = ['user_msg', 'resolution', 'cancel_requested', 'flow_started']

const statuses = { idle: 'idle', running: 'active', awaiting_input: 'suspended', terminating: 'active' } as const

function assign(conversation: Conversation, attrs: ConversationAttrs): void {
  if (attrs.kind !== undefined) conversation.kind = attrs.kind
  if (attrs.agent !== undefined) conversation.agent = attrs.agent
  if (attrs.status !== undefined) conversation.status = attrs.status
  if (attrs.settings !== undefined) conversation.settings = { ...conversation.settings, ...attrs.settings }
  if (attrs.title !== undefined) conversation.title = attrs.title
  if (attrs.parent !== undefined) conversation.parent = attrs.parent
}
