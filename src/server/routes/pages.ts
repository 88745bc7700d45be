import type { Json, JsonObject } from '../../base/json.ts'
import { encode } from '../../log/codec.ts'
import type { LogEvent } from '../../log/events.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { Inspection } from '../../runtime/read/inspect.ts'
import type { ListedConversation } from '../../runtime/read/lists.ts'
import type { ConversationRecord } from '../../store/records.ts'
import type { Page } from '../../store/store.ts'
import { bytesAnswer, json, pageOf } from '../answer.ts'
import { limit, object, type RouteCall, seq } from '../route.ts'

const eventsPerPage = 200

export const eventRange: JsonObject = object({ after: seq, before: seq, limit: limit(1000) })

export const pageOfEvents = {
  status: 200,
  description:
    'Events in their order. Where not all fit, `after` asks for the page after this one, or `before` for the one before it; null when there is none.',
}

/** A page of a log: onwards from `after` where it is given, else the newest. Each event is written out as it is read, so that a page costs its bytes and one event. */
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
  readonly #mostBytes: number
  readonly #isOnwards: boolean
  #kept: Written[] = []
  #bytes = 0
  #isFull = false

  constructor(most: number, mostBytes: number, isOnwards: boolean) {
    this.#limit = most
    this.#mostBytes = mostBytes
    this.#isOnwards = isOnwards
  }

  /** There is more than it holds. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Those that come next: after what is there, or before it. Does not wait: an event may take twenty times its bytes while it is decoded, and readers that wait together would all hold one. */
  add(events: Iterable<LogEvent>): void {
    if (this.#isOnwards) {
      for (const event of events) if (!this.#keep(written(event))) return
      return
    }
    const read = Array.from(events, written)
    for (const event of read.reverse()) if (!this.#keep(event)) return
  }

  parts(): Uint8Array[] {
    const inOrder = this.#isOnwards ? this.#kept : this.#kept.toReversed()
    return inOrder.flatMap(({ bytes }, index) => (index === 0 ? [bytes] : [comma, bytes]))
  }

  cursors(): { readonly after: number | null; readonly before: number | null } {
    const last = this.#isFull ? (this.#kept.at(-1)?.seq ?? null) : null
    return this.#isOnwards ? { after: last, before: null } : { after: null, before: last }
  }

  #keep(event: Written): boolean {
    const isTooMuch = this.#bytes + event.bytes.byteLength > this.#mostBytes
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

const forksPerPage = 50

export const pageOfForks = {
  status: 200,
  description: '`before` asks for the page after this one; null when there is none.',
}

export async function forksOf(
  call: RouteCall,
  forked: { forks(page?: Page): Promise<ConversationRecord[]> },
): Promise<Response> {
  const { items, before } = await pageOf(call, forksPerPage, (page) => forked.forks(page))
  return json({ forks: items.map(listed), before })
}

export const lineageAnswer = {
  status: 200,
  description: 'Ids, and up to which event they were copied. `hasMore`: ask for the lineage of the last of them.',
}

const ancestorsPerPage = 1_000

export async function lineageOf(forked: Pick<Conversation, 'lineage'>): Promise<Response> {
  const lineage = await forked.lineage({ limit: ancestorsPerPage })
  return json({ lineage, hasMore: lineage.length === ancestorsPerPage })
}

/** What a list tells of a conversation or session. */
export function listed(record: ListedConversation) {
  const { id, kind, agent, status, title, parent, lastSeq, createdAt, updatedAt, quarantine, unreadable, problem } =
    record
  const told = {
    ...(quarantine ? { quarantinedAt: quarantine.at } : {}),
    ...(unreadable ? { unreadable } : {}),
    // Its text may have what the record holds.
    ...(problem ? { problem: { code: problem.code } } : {}),
  }
  return { id, kind, agent, status, title, parent, lastSeq, createdAt, updatedAt, ...told }
}
