import { explain, type LogEvent, type RemoteRecord, type View } from 'perdure/client'
import { EventLog } from '../inspector/event-log.ts'
import { emptyView, PastViews } from '../inspector/past-views.ts'
import { sessionStatus, sessionsOf } from './exported-sessions.ts'
import type { ExportedConversation, ExportedTenant } from './read-export.ts'

/**
 * Answers the requests of the client from an export, so that every page of the studio shows a file as it shows a server. Nothing leaves the page, and whatever
 * would change something is refused.
 */
export function exportFetch(tenant: ExportedTenant): typeof fetch {
  const opened = new Map<string, Opened>()
  const conversation = (id: string): Opened => {
    const found = tenant.conversations.get(id)
    if (found?.record.kind !== 'conversation')
      throw new Refused(404, 'conversation_not_found', `The file has no conversation '${id}'.`)
    const known = opened.get(id) ?? { ...found, views: viewsOf(found) }
    opened.set(id, known)
    return known
  }
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, searchParams } = new URL(request.url)
    const asked: Asked = { tenant, conversation, query: Object.fromEntries(searchParams), signal: request.signal }
    try {
      if (request.method !== 'GET') throw new Refused(403, 'read_only', 'This is a file: nothing in it can be changed.')
      return await answer(asked, pathname.split('/').slice(1).map(decodeURIComponent))
    } catch (error) {
      if (error instanceof Refused) return reply(error.problem, error.problem.status)
      throw error
    }
  }
}

type Opened = ExportedConversation & { readonly views: PastViews }

type Asked = {
  readonly tenant: ExportedTenant
  readonly conversation: (id: string) => Opened
  readonly query: { readonly [name: string]: string }
  readonly signal: AbortSignal
}

class Refused extends Error {
  readonly problem: { readonly status: number; readonly code: string; readonly detail: string }

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.problem = { status, code, detail }
  }
}

async function answer(asked: Asked, [collection, id, ...rest]: readonly string[]): Promise<Response> {
  const { tenant, query } = asked
  if (collection === 'live') return stream(asked.signal, liveFrames(asked))
  if (collection === 'inbox') return reply({ items: [], before: null })
  if (collection === 'sessions') return reply(sessionList(tenant, query))
  if (collection === 'flows' && id === undefined) return reply({ flows: [] })
  if (collection === 'flows') return ofSession(asked, id!, rest)
  if (collection === 'totals') return reply(totals(tenant))
  if (collection !== 'conversations') throw new Refused(404, 'not_found', 'A file has no such page.')
  if (id === undefined) return reply(list(tenant, query))
  return ofConversation(asked, asked.conversation(id), rest)
}

async function ofConversation(asked: Asked, found: Opened, [part, name, detail]: readonly string[]): Promise<Response> {
  const { record, events, modelCalls, views } = found
  const { query } = asked
  switch (part) {
    case undefined:
      return reply(record)
    case 'view':
      return reply(await views.at(query['at'] === undefined ? events.length : Number(query['at'])))
    case 'live':
      return stream(asked.signal, [{ id: String(events.length), event: await snapshot(found) }])
    case 'history':
      return reply(await history(found, Number(query['before'] ?? events.length + 1)))
    case 'events':
      return reply(page(events, query))
    case 'forks': {
      const forks = [...asked.tenant.conversations.values()].filter(
        ({ record: { parent } }) => parent?.id === record.id && parent.at !== undefined,
      )
      return reply({ forks: forks.map((fork) => fork.record) })
    }
    case 'lineage':
      return reply({ lineage: lineage(asked.tenant, record) })
    case 'model-calls': {
      if (name === undefined) return reply({ modelCalls: modelCalls.map(({ renderedContext: _, ...row }) => row) })
      const attempts = modelCalls.filter(({ turnRef }) => turnRef === name)
      if (attempts.length === 0) throw new Refused(404, 'turn_not_found', `There is no model call '${name}'.`)
      if (detail === undefined) return reply({ attempts })
      const call = attempts.at(-1)!
      const { seen = events.length } = Object(call.evictions) as { seen?: number }
      const { log } = await views.at(Math.min(seen, events.length))
      return reply({ explanations: explain(events, call, log) })
    }
    case 'files':
      return file(asked.tenant, name ?? '')
    default:
      throw new Refused(404, 'not_found', 'A file has no such page.')
  }
}

/** `flow`, then `sessions`, the id, and what is asked of it. */
function ofSession({ tenant, query }: Asked, flow: string, [, id, part]: readonly string[]): Response {
  const found = sessionsOf(tenant).find((session) => session.flow === flow && session.id === id)
  if (!found) throw new Refused(404, 'no_session', `The file has no session '${id}' of '${flow}'.`)
  if (part === undefined) return reply(sessionStatus(found.log))
  if (part === 'events') return reply(page(found.log.events, query))
  if (part === 'forks') return reply({ forks: [] })
  if (part === 'lineage') return reply({ lineage: lineage(tenant, found.log.record) })
  throw new Refused(404, 'not_found', 'A file has no such page.')
}

function sessionList(tenant: ExportedTenant, query: Asked['query']): object {
  const { flow, owner, status, text = '' } = query
  const all = sessionsOf(tenant).filter(
    (session) =>
      (flow === undefined || session.flow === flow) &&
      (owner === undefined || session.owner === owner) &&
      (status === undefined || session.status === status) &&
      `${session.id} ${session.title ?? ''}`.toLowerCase().includes(text.toLowerCase()),
  )
  return { sessions: all.map(({ log: _, ...session }) => session), before: null }
}

/** Each 1,000th view is folded from the one before it. */
function viewsOf({ record, events }: ExportedConversation): PastViews {
  const log = new EventLog(async ({ after, limit }) => events.slice(after, after + limit))
  log.grow(events.length)
  const views: PastViews = new PastViews(log, async (seq) => (seq === 0 ? emptyView(record.id) : views.at(seq)))
  return views
}

async function snapshot({ events, views }: Opened): Promise<{ type: 'snapshot'; view: View }> {
  return { type: 'snapshot', view: await views.at(events.length) }
}

async function history({ views }: Opened, before: number): Promise<object> {
  if (before <= 1) return { messages: [], notes: [], before: null }
  const view = await views.at(before - 1)
  return { messages: view.messages, notes: view.notes, before: view.before }
}

function page(events: readonly LogEvent[], query: Asked['query']): object {
  const limit = Math.min(1_000, Number(query['limit'] ?? 200))
  const lastSeq = events.length
  if (query['after'] !== undefined) {
    const from = Number(query['after'])
    const found = events.slice(from, from + limit)
    return { events: found, lastSeq, after: from + found.length < lastSeq ? from + found.length : null, before: null }
  }
  const to = Math.min(lastSeq, Number(query['before'] ?? lastSeq + 1) - 1)
  const found = events.slice(Math.max(0, to - limit), Math.max(0, to))
  return { events: found, lastSeq, after: null, before: to > limit ? to - limit + 1 : null }
}

function list(tenant: ExportedTenant, query: Asked['query']): object {
  const { agent, owner, status, text = '', before, limit = '50' } = query
  const all = conversationsOf(tenant)
    .map(({ record }) => record)
    .filter(
      (record) =>
        (agent === undefined || record.agent === agent) &&
        (owner === undefined || record.owner === owner) &&
        (status === undefined || record.status === status) &&
        `${record.id} ${record.title ?? ''}`.toLowerCase().includes(text.toLowerCase()),
    )
    .sort((one, other) => other.updatedAt - one.updatedAt || (one.id < other.id ? 1 : -1))
  const from = before === undefined ? 0 : all.findIndex(({ id }) => id === before) + 1
  const found = all.slice(from, from + Number(limit))
  const rows = found.map((record) => ({ ...record, ...restOfRow(tenant.conversations.get(record.id)!) }))
  return { conversations: rows, before: from + found.length < all.length ? (found.at(-1)?.id ?? null) : null }
}

/** What a list shows of a log beside its record. */
function restOfRow({ events }: ExportedConversation): Pick<RemoteRecord, 'waiting' | 'lastMessage'> {
  const open = new Set<string>()
  let lastMessage: RemoteRecord['lastMessage'] = null
  for (const { type, content } of events) {
    if (type === 'suspension' && content.kind !== 'sub_agent') open.add(content.callId)
    else if (type === 'resolution' || type === 'tool_result') open.delete(content.callId)
    else if (type === 'turn_ended') open.clear()
    else if (type === 'user_msg') lastMessage = messageOf('user', content.message.parts) ?? lastMessage
    else if (type === 'assistant_msg') lastMessage = messageOf('assistant', content.parts) ?? lastMessage
  }
  return { waiting: open.size, lastMessage }
}

type Part = { readonly type: string; readonly text?: string }

function messageOf(role: 'user' | 'assistant', parts: readonly Part[]): RemoteRecord['lastMessage'] {
  const text = parts.flatMap((part) => (part.type === 'text' ? (part.text ?? '') : [])).join(' ')
  return text === '' ? null : { role, text: text.slice(0, 200) }
}

/** Child agents are reached through their parents. */
function conversationsOf({ conversations }: ExportedTenant): ExportedConversation[] {
  return [...conversations.values()].filter(({ record, childOf }) => record.kind === 'conversation' && childOf === null)
}

function totals(tenant: ExportedTenant): object {
  const counts: Record<string, number> = {}
  for (const { record } of conversationsOf(tenant)) counts[record.status] = (counts[record.status] ?? 0) + 1
  const sessions: Record<string, number> = {}
  for (const { status } of sessionsOf(tenant)) sessions[status] = (sessions[status] ?? 0) + 1
  return { conversations: counts, sessions, inbox: { waiting: 0, oldestAt: null }, isPartial: false }
}

function lineage({ conversations }: ExportedTenant, record: RemoteRecord): { id: string; at: number }[] {
  const found: { id: string; at: number }[] = []
  for (let parent = record.parent; parent?.at !== undefined && !found.some(({ id }) => id === parent!.id); ) {
    found.push({ id: parent.id, at: parent.at })
    parent = conversations.get(parent.id)?.record.parent ?? null
  }
  return found
}

function file({ files }: ExportedTenant, hash: string): Response {
  const found = files.get(hash)
  if (!found) throw new Refused(404, 'file_not_found', 'The export does not have this file.')
  const bytes = found.data.map((text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))
  return new Response(new Blob(bytes), { headers: { 'content-type': found.mediaType } })
}

async function* liveFrames({ tenant, conversation, query }: Asked): AsyncGenerator<Frame> {
  yield { id: '0', event: { type: 'reset' } }
  const watched = JSON.parse(query['watch'] ?? '{}') as Record<string, unknown>
  for (const [conversationId, place] of Object.entries(watched)) {
    if (place !== null) continue
    if (!tenant.conversations.has(conversationId)) {
      yield { id: '0', event: { type: 'unwatched', conversationId } }
      continue
    }
    const found = conversation(conversationId)
    const id = String(found.events.length)
    yield { id: '0', event: { type: 'watched', conversationId, id, event: await snapshot(found) } }
  }
}

type Frame = { readonly id: string; readonly event: object }

const heartbeatMs = 15_000

/** A stream that says what there is, and then stays open: a file does not change. */
function stream(signal: AbortSignal, frames: Iterable<Frame> | AsyncIterable<Frame>): Response {
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for await (const { id, event } of frames)
        controller.enqueue(encoder.encode(`id: ${id}\ndata: ${JSON.stringify(event)}\n\n`))
      timer = setInterval(() => controller.enqueue(encoder.encode(':\n\n')), heartbeatMs)
      signal.addEventListener('abort', () => clearInterval(timer))
    },
    cancel: () => clearInterval(timer),
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function reply(value: object, status = 200): Response {
  return Response.json(value, { status })
}
