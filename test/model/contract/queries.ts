import type { ConversationFilter } from '../../../src/store/conversation-record.ts'
import type { EventRange, Page } from '../../../src/store/store.ts'
import { Exact } from '../compare/difference.ts'
import { byBytes, type Call, type Conversation, newestFirst, Refused, type Tenant } from './state.ts'

const pageSize = 100

/** Each returns what the store must return, with `Span` for times and `Exact` for stored values. */
export function events(tenant: Tenant, id: string, { after = 0, before, limit }: EventRange = {}): unknown[] {
  const all = tenant.conversations.get(id)?.events ?? []
  const range = all
    .map((event, index) => ({ ...event, conversationId: id, seq: index + 1, content: new Exact(event.content) }))
    .filter(({ seq }) => seq > after && (before === undefined || seq < before))
  return limit === undefined ? range : range.slice(Math.max(0, range.length - limit))
}

export function latestSummary(tenant: Tenant, id: string): unknown {
  const summaries = [...(tenant.conversations.get(id)?.summaries.values() ?? [])]
  const latest = summaries.sort((left, right) => right.toSeq - left.toSeq)[0]
  return latest ? { ...latest, content: new Exact(latest.content), base: new Exact(latest.base) } : null
}

export function since(tenant: Tenant, id: string): unknown {
  const summary = latestSummary(tenant, id) as { toSeq: number } | null
  return { summary, events: events(tenant, id, { after: summary?.toSeq ?? 0 }) }
}

export function conversationRecord(conversation: Conversation | undefined): unknown {
  if (!conversation) return null
  const { id, kind, agent, status, settings, fsmState, title, parent, createdAt, updatedAt } = conversation
  return {
    id,
    kind,
    agent,
    status,
    settings: new Exact(settings),
    fsmState: new Exact(fsmState),
    title,
    parent: new Exact(parent),
    lastSeq: conversation.events.length,
    createdAt,
    updatedAt,
  }
}

export function conversations(tenant: Tenant, { status, agent, forkOf, before, limit = pageSize }: ConversationFilter) {
  const all = [...tenant.conversations.values()].sort(newestFirst)
  return pageAfter(all, before, 'conversation_not_found')
    .filter((row) => (status === undefined || row.status === status) && (agent === undefined || row.agent === agent))
    .filter(({ parent }) => forkOf === undefined || (parent?.id === forkOf && parent.at !== undefined))
    .slice(0, limit)
    .map(conversationRecord)
}

export function callRecord(call: Call | undefined): unknown {
  if (!call) return null
  return { ...call, args: new Exact(call.args), result: new Exact(call.result), prompt: new Exact(call.prompt) }
}

export function pendingCalls(tenant: Tenant, id: string): unknown[] {
  return pendingIn(tenant)
    .filter((call) => call.conversationId === id)
    .reverse()
    .map(callRecord)
}

export function inbox(tenant: Tenant, { before, limit = pageSize }: Page): unknown[] {
  const all = [...tenant.calls.values()].sort(newestFirst)
  return pageAfter(all, before, 'call_not_found')
    .filter(({ status }) => status === 'pending')
    .slice(0, limit)
    .map((call) => {
      const { agent, title } = tenant.conversations.get(call.conversationId)!
      return { ...(callRecord(call) as object), agent, title }
    })
}

export function modelCalls(tenant: Tenant, id: string): unknown[] {
  const rows = tenant.conversations.get(id)?.modelCalls ?? []
  return rows
    .toSorted((left, right) => byBytes(left.turnRef, right.turnRef))
    .map(({ turnRef, at, rest }) => ({ turnRef, at, ...rest }))
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
