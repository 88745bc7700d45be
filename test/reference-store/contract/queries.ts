import { encode } from '../../../src/log/codec.ts'
import type { ConversationFilter, ModelCallRange } from '../../../src/store/records.ts'
import type { EventRange, InboxFilter, PageBounds } from '../../../src/store/store.ts'
import { Exact } from '../compare/difference.ts'
import type { Span } from '../compare/span.ts'
import { isQuarantined } from './leases.ts'
import { byBytes, type Call, type Conversation, newestFirst, Refused, type Tenant } from './state.ts'

const pageSize = 100

/** Each returns what the store must return, with `Span` for times and `Exact` for stored values. */
export function events(tenant: Tenant, id: string, range: EventRange = {}): ExpectedEvent[] {
  const { after = 0, before, keep = 'newest', ...bounds } = range
  const all = tenant.conversations.get(id)?.events ?? []
  const found = all
    .map((event, index) => ({ ...event, conversationId: id, seq: index + 1, content: new Exact(event.content) }))
    .filter(({ seq }) => seq > after && (before === undefined || seq < before))
  const fromItsEnd = keep === 'newest' ? found.toReversed() : found
  const kept = fitting(fromItsEnd, bounds, ({ content }) => Buffer.byteLength(encode(content.value)))
  return keep === 'newest' ? kept.toReversed() : kept
}

type ExpectedEvent = { readonly seq: number; readonly at: Span; readonly content: Exact }

function placeOf(event: ExpectedEvent | undefined): unknown {
  return event ? { seq: event.seq, at: event.at } : null
}

/** Whole rows, as many as fit, and at least one. */
function fitting<Row>(rows: readonly Row[], { limit, maxBytes }: PageBounds, bytesOf: (row: Row) => number): Row[] {
  let bytes = 0
  const isLeftOut = (row: Row, index: number): boolean => {
    bytes += bytesOf(row)
    return index === limit || (index > 0 && bytes > (maxBytes ?? Number.POSITIVE_INFINITY))
  }
  const end = rows.findIndex(isLeftOut)
  return end < 0 ? [...rows] : rows.slice(0, end)
}

/** Of lists only these bounds are tried: what holds one row, and what holds all. */
const anyBytes = (): number => 2

/** A page of a log: what it says of its ends follows from its events; `hasMore` may be true at the end, too, but never false before it. */
export function page(expected: readonly ExpectedEvent[], rest: readonly ExpectedEvent[], hasMore: unknown): unknown {
  return {
    events: expected,
    first: placeOf(expected[0]),
    last: placeOf(expected.at(-1)),
    hasMore: rest.length > 0 || (expected.length > 0 && hasMore),
  }
}

export function latestSummary(tenant: Tenant, id: string): unknown {
  const summaries = [...(tenant.conversations.get(id)?.summaries.values() ?? [])]
  const latest = summaries.sort((left, right) => right.toSeq - left.toSeq)[0]
  return latest ? { ...latest, content: new Exact(latest.content), base: new Exact(latest.base) } : null
}

export function since(tenant: Tenant, id: string, bounds: PageBounds = {}): { events: ExpectedEvent[] } {
  const summary = latestSummary(tenant, id) as { toSeq: number } | null
  const range = { ...bounds, after: summary?.toSeq ?? 0, keep: 'oldest' as const }
  return { summary, events: events(tenant, id, range) } as { events: ExpectedEvent[] }
}

export function conversationRecord(conversation: Conversation | undefined): unknown {
  if (!conversation) return null
  const { id, kind, agent, owner, status, settings, fsmState, title, parent, createdAt, updatedAt } = conversation
  return {
    id,
    kind,
    agent,
    owner,
    status,
    settings: new Exact(settings),
    fsmState: new Exact(fsmState),
    title,
    parent: new Exact(parent),
    lastSeq: conversation.events.length,
    createdAt,
    updatedAt,
    ...(isQuarantined(conversation)
      ? { quarantine: { at: conversation.lease!.claimedAt, epoch: conversation.lease!.epoch } }
      : {}),
  }
}

export function conversations(
  tenant: Tenant,
  { kind, status, agent, owner, forkOf, text, ids, before, limit = pageSize, ...bounds }: ConversationFilter,
) {
  const isOwned = (row: Conversation) => owner === undefined || row.owner === owner
  const all = [...tenant.conversations.values()].filter(isOwned).sort(newestFirst)
  const found = pageAfter(all, before, 'conversation_not_found')
    .filter((row) => (status === undefined || row.status === status) && (agent === undefined || row.agent === agent))
    .filter((row) => kind === undefined || row.kind === kind)
    .filter(({ parent }) => forkOf === undefined || (parent?.id === forkOf && parent.at !== undefined))
    .filter(({ id }) => !ids || ids.includes(id))
    .filter(({ id, title }) => text === undefined || occurs(text, id) || occurs(text, title ?? ''))
  return fitting(found, { ...bounds, limit }, anyBytes).map((row) => {
    const waiting = pendingIn(tenant).filter(
      ({ conversationId, kind }) => conversationId === row.id && kind !== 'sub_agent',
    )
    return { ...(conversationRecord(row) as object), waiting: waiting.length }
  })
}

function occurs(text: string, place: string): boolean {
  return place.toLowerCase().includes(text.toLowerCase())
}

export function callRecord(call: Call | undefined): unknown {
  if (!call) return null
  return {
    ...call,
    args: new Exact(call.args),
    result: new Exact(call.result),
    prompt: new Exact(call.prompt),
    meta: new Exact(call.meta),
  }
}

export function pendingCalls(tenant: Tenant, id: string): unknown[] {
  return pendingIn(tenant)
    .filter((call) => call.conversationId === id)
    .reverse()
    .map(callRecord)
}

export function inbox(tenant: Tenant, { owner, before, limit = pageSize, ...bounds }: InboxFilter): unknown[] {
  const isOwned = ({ conversationId }: Call) =>
    owner === undefined || tenant.conversations.get(conversationId)?.owner === owner
  const all = [...tenant.calls.values()].filter(isOwned).sort(newestFirst)
  const found = pageAfter(all, before, 'call_not_found').filter(({ status }) => status === 'pending')
  return fitting(found, { ...bounds, limit }, anyBytes).map((call) => {
    const conversation = tenant.conversations.get(call.conversationId)!
    const { agent, title, owner: ownedBy } = conversation
    const quarantine = isQuarantined(conversation) ? { quarantinedAt: conversation.lease!.claimedAt } : {}
    return { ...(callRecord(call) as object), agent, title, owner: ownedBy, ...quarantine }
  })
}

export function modelCalls(tenant: Tenant, id: string, range: ModelCallRange = {}): unknown[] {
  const { turnRef, from = '', skip = 0, contexts = true, ...bounds } = range
  const found = (tenant.conversations.get(id)?.modelCalls ?? [])
    .filter((row) => (turnRef === undefined || row.turnRef === turnRef) && byBytes(row.turnRef, from) >= 0)
    .toSorted((left, right) => byBytes(left.turnRef, right.turnRef))
    .slice(skip)
  return fitting(found, bounds, anyBytes).map(({ turnRef: ref, at, rest }) => ({
    turnRef: ref,
    at,
    ...rest,
    ...(contexts ? {} : { renderedContext: null }),
  }))
}

function pendingIn(tenant: Tenant): Call[] {
  return [...tenant.calls.values()].filter(({ status }) => status === 'pending').sort(newestFirst)
}

function pageAfter<Row extends { id: string }>(
  rows: Row[],
  before: string | undefined,
  missing: 'conversation_not_found' | 'call_not_found',
): Row[] {
  if (before === undefined) return rows
  const index = rows.findIndex(({ id }) => id === before)
  if (index < 0) throw new Refused(missing)
  return rows.slice(index + 1)
}
