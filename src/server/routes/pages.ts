import type { Json, JsonObject } from '../../base/json.ts'
import { encode } from '../../log/codec.ts'
import type { LogEvent } from '../../log/events.ts'
import type { JudgedPage } from '../../runtime/authorize/judged-page.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { Inspection } from '../../runtime/read/inspect.ts'
import { type ListedConversation, type ListedSession, listedConversation } from '../../runtime/read/lists.ts'
import type { Totals } from '../../runtime/read/totals.ts'
import type { Page } from '../../store/store.ts'
import { everything } from '../../view/disclose.ts'
import { bytesAnswer, json, pageOf, requireConversation } from '../answer.ts'
import { limit, object, type RouteCall, seq } from '../route.ts'

const eventsPerPage = 200

export const eventRange: JsonObject = object({ after: seq, before: seq, limit: limit(1000) })

export const pageOfEvents = {
  status: 200,
  description:
    'Events in order. Pass `after` for the next page, or `before` for the previous one; null when there is none.',
}

/**
 * A page of a log: events after `after`, or the newest. Each event is encoded as it is read, so a page costs its own
 * bytes plus one decoded event.
 */
export async function eventsAnswer(
  { query, server }: RouteCall,
  { pages }: Inspection,
  more: { readonly [name: string]: Json } = {},
): Promise<Response> {
  const { after, before, limit: most = eventsPerPage } = query as Record<string, number | undefined>
  const page = new EventsPage(most, server.settings.limits.answerBytes, after !== undefined)
  const range = { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
  for await (const { events } of pages(range)) {
    page.add(events)
    if (page.isFull) break
  }
  const end = Buffer.from(`],${encode({ ...more, ...page.cursors() }).slice(1)}`)
  return bytesAnswer([Buffer.from('{"events":['), ...page.parts(), end], { 'content-type': 'application/json' })
}

type Written = { readonly seq: number; readonly bytes: Uint8Array }

class EventsPage {
  readonly #limit: number
  readonly #maxBytes: number
  readonly #isForward: boolean
  #kept: Written[] = []
  #bytes = 0
  #isFull = false

  constructor(most: number, maxBytes: number, isForward: boolean) {
    this.#limit = most
    this.#maxBytes = maxBytes
    this.#isForward = isForward
  }

  /** There are more events than the page holds. */
  get isFull(): boolean {
    return this.#isFull
  }

  /**
   * Adds the next events in reading order. Must stay synchronous: a decoded event may take twenty times its encoded
   * size, and readers that await together would each hold one.
   */
  add(events: Iterable<LogEvent>): void {
    if (this.#isForward) {
      for (const event of events) if (!this.#keep(written(event))) return
      return
    }
    const read = Array.from(events, written)
    for (const event of read.reverse()) if (!this.#keep(event)) return
  }

  parts(): Uint8Array[] {
    const inOrder = this.#isForward ? this.#kept : this.#kept.toReversed()
    return inOrder.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [comma, bytes]))
  }

  cursors(): { readonly after: number | null; readonly before: number | null } {
    const last = this.#isFull ? (this.#kept.at(-1)?.seq ?? null) : null
    return this.#isForward ? { after: last, before: null } : { after: null, before: last }
  }

  #keep(event: Written): boolean {
    const isTooMuch = this.#bytes + event.bytes.byteLength > this.#maxBytes
    this.#isFull = this.#kept.length === this.#limit || (this.#kept.length > 0 && isTooMuch)
    if (this.#isFull) return false
    this.#kept.push(event)
    this.#bytes += event.bytes.byteLength
    return true
  }
}

const comma = Buffer.from(',')

function written(event: LogEvent): Written {
  return { seq: event.seq, bytes: Buffer.from(encode(event)) }
}

/** How many rows a list has according to the totals of the tenant; null if its filter is finer than the totals. */
export async function countOf(
  { verbs, query }: RouteCall,
  among: (totals: Totals) => { readonly [status: string]: number },
): Promise<number | null> {
  const { owner, status, limit: _, kind: __, ...more } = query as Record<string, unknown>
  if (Object.values(more).some((value) => value !== undefined)) return null
  const totals = await verbs.totals(owner === undefined ? {} : { owner: owner as string })
  if (!totals || totals.isPartial) return null
  const counts = among(totals)
  return typeof status === 'string' ? (counts[status] ?? 0) : Object.values(counts).reduce((sum, some) => sum + some, 0)
}

const forksPerPage = 50

export const pageOfForks = {
  status: 200,
  description: 'Pass `before` for the next page; null when there is none.',
}

export async function forksOf(
  call: RouteCall,
  forked: { forks(page?: Page): Promise<JudgedPage<ListedConversation>> },
): Promise<Response> {
  const { items, before } = await pageOf(call, forksPerPage, (page) => forked.forks(page))
  return json({ forks: items.map(listEntry), before })
}

export const lineageAnswer = {
  status: 200,
  description:
    'Ids, each with the event it was copied up to. `hasMore`: read the lineage of the last one for the rest.',
}

const ancestorsPerPage = 1_000

export async function lineageOf(forked: Pick<Conversation, 'lineage'>): Promise<Response> {
  const lineage = await forked.lineage({ limit: ancestorsPerPage })
  return json({ lineage, hasMore: lineage.length === ancestorsPerPage })
}

/** The list entry of a session. */
export function sessionEntry({ quarantine, problem, ...entry }: ListedSession) {
  return {
    ...entry,
    ...(quarantine ? { quarantinedAt: quarantine.at } : {}),
    ...(problem ? { problem: { code: problem.code } } : {}),
  }
}

/** The list entry of one conversation, with its tenant for operators. */
export async function recordAnswer(call: RouteCall): Promise<Response> {
  const { record } = await requireConversation(call, 'read')
  const inspection = call.verbs.inspect(record.id)
  const paused = (await inspection.work())?.paused
  const entry = listEntry({ ...listedConversation(record, null), ...(paused ? { paused } : {}) })
  return json(call.disclosure === everything ? { ...entry, tenant: inspection.ref.tenant } : entry)
}

/** The list entry of a conversation or session. */
export function listEntry(record: ListedConversation) {
  const {
    id,
    kind,
    agent,
    owner,
    status,
    title,
    parent,
    lastSeq,
    createdAt,
    updatedAt,
    waiting,
    lastMessage,
    tokens,
    quarantine,
    unreadable,
    problem,
    paused,
  } = record
  const told = {
    ...(quarantine ? { quarantinedAt: quarantine.at } : {}),
    ...(unreadable ? { unreadable } : {}),
    // The problem's text may quote the record.
    ...(problem ? { problem: { code: problem.code } } : {}),
    ...(paused ? { paused } : {}),
  }
  const counted = waiting === undefined ? {} : { waiting }
  return {
    id,
    kind,
    agent,
    owner,
    status,
    title,
    parent,
    lastSeq,
    createdAt,
    updatedAt,
    ...counted,
    lastMessage,
    tokens,
    ...told,
  }
}
