import type { WaitingCall } from '../client/live.ts'
import type { LogEvent } from '../log/events.ts'
import type { InboxItem } from '../runtime/read/lists.ts'
import type { Change, Link } from './link.ts'
import { ListStore } from './list-store.ts'
import { LiveStore } from './live-store.ts'

/** Which items an inbox has. */
export type InboxFilter = { readonly owner?: string; readonly limit?: number }

/** An item that has left the inbox, and the answer that ended it if the log records one. */
export type LeftItem = {
  readonly item: InboxItem
  /** When this page noticed. */
  readonly at: number
  readonly who: string | null
  /** Such as `resolved`, `denied` or `expired`. */
  readonly status: string | null
  readonly value: unknown
}

/** How long an item stays in `left`. */
const leftMs = 8_000

/** The inbox, and what has just left it. */
export class InboxStore {
  readonly list: ListStore<InboxItem>
  readonly left: LiveStore<readonly LeftItem[]>
  readonly #link: Link
  /** Answered on this page, which therefore knows the results. */
  readonly #own = new Set<string>()

  constructor(link: Link, filter: InboxFilter) {
    this.#link = link
    this.left = new LiveStore<readonly LeftItem[]>(link.tab, [], () => () => {})
    this.list = new ListStore<InboxItem>(link, {
      read: (before) => link.client.inbox({ ...filter, ...(before === undefined ? {} : { before }) }),
      keyOf: inboxKey,
      applied: appliedToInbox,
      onLeft: (items) => void Promise.all(items.map((item) => this.#hasLeft(item))),
    })
  }

  /** The item was answered on this page. */
  answered(item: InboxItem): void {
    this.#own.add(inboxKey(item))
    this.list.remove(inboxKey(item))
  }

  async #hasLeft(item: InboxItem): Promise<void> {
    if (this.#own.delete(inboxKey(item))) return
    const known: LeftItem = { item, at: Date.now(), who: null, status: null, value: null }
    const left = { ...known, ...(await this.#answerTo(item)) }
    this.left.set([...this.left.value, left])
    setTimeout(() => this.left.set(this.left.value.filter((other) => other !== left)), leftMs)
  }

  /** The answer is among the newest events. Nothing where the conversation is gone or may not be read. */
  async #answerTo(item: InboxItem): Promise<Answer | null> {
    const { client } = this.#link
    const { conversationId: id } = item
    const source = item.kind === 'flow' ? client.flow(item.flow, id) : client.conversation(id)
    const events = await source.events({ limit: 100 }).catch((): LogEvent[] => [])
    return item.kind === 'flow' ? outcomeIn(events, item.seq) : resolutionIn(events, item)
  }
}

/** The calls of a conversation that are named in one change. */
const mostNamed = 100

/** A conversation that changed says what waits in it: calls that are not shown must be read, the others have left. */
function appliedToInbox(
  change: Exclude<Change, { type: 'reset' }>,
  shown: readonly InboxItem[],
): readonly InboxItem[] | 'read' {
  const id = change.type === 'gone' ? change.id : change.type === 'session' ? change.session.id : change.record.id
  const calls = change.type === 'gone' ? [] : change.calls
  const isShown = ({ callId, round }: WaitingCall): boolean =>
    shown.some((item) => item.conversationId === id && item.callId === callId && item.round === round)
  if (calls.length >= mostNamed || !calls.every(isShown)) return 'read'
  const isWaiting = (item: InboxItem): boolean =>
    calls.some(({ callId, round }) => item.callId === callId && item.round === round)
  const kept = shown.filter((item) => item.conversationId !== id || isWaiting(item))
  // What waits is the same: a deadline may have moved.
  return calls.length > 0 && kept.length === shown.length ? 'read' : kept
}

type Answer = Pick<LeftItem, 'who' | 'status' | 'value'>

function resolutionIn(events: readonly LogEvent[], item: InboxItem): Answer | null {
  for (const event of events) {
    if (event.type !== 'resolution') continue
    const { callId, round, who, status, value } = event.content
    if (callId === item.callId && round === item.round) return { who, status, value }
  }
  return null
}

function outcomeIn(events: readonly LogEvent[], questionSeq: number): Answer | null {
  const question = events.find(({ seq }) => seq === questionSeq)
  if (question?.type !== 'flow_opened') return null
  const { position } = question.content
  for (const event of events) {
    if (event.type !== 'flow_outcome' || event.content.position !== position) continue
    const { who = null, ok } = event.content
    return { who, status: ok ? 'resolved' : 'failed', value: ok ? event.content.value : event.content.error }
  }
  return null
}

/** One string for one question: a call that asks again is another one. */
function inboxKey({ conversationId, callId, round }: InboxItem): string {
  return JSON.stringify([conversationId, callId, round])
}
