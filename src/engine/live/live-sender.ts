import { type ConversationRef, conversationKey } from '../../store/records.ts'
import { charactersOf, type DeltaEvent, isDelta } from '../../view/live-events.ts'
import type { Draft, LiveEvent } from '../../view/view.ts'
import type { Channel } from './channel.ts'
import { encodeMessage, type LiveItem, type TextItem } from './live-message.ts'

/** How long a node receives the text of a conversation after it announced that it watches it. */
export const interestMs = 15_000
/** The most announcements that are kept, and the most of one conversation. */
const mostAnnounced = 50_000
const mostNodes = 64
/** Characters of one message that are sent on. The log takes no larger message either. */
export const mostCharacters = 1024 * 1024
/** Characters that wait for one conversation, and for all. Beyond it they are dropped, and the whole is sent when its turn comes. */
const mostWaiting = 64 * 1024
const mostWaitingInAll = 16 * 1024 * 1024
/** Of one item. */
const pieceCharacters = 8 * 1024
/** Of one encoded message. */
const messageBytes = 48 * 1024

/** A conversation that other nodes watch. */
type Watched = ConversationRef & {
  readonly nodes: Map<string, { until: number; needsWhole: boolean }>
  items: LiveItem[]
  /** Characters in `items`. */
  waiting: number
  epoch: number
  /** The newest known message, up to its nth delta. */
  place: { readonly messageId: string; n: number; characters: number } | null
}

/** What one node is to be sent. */
export type Outgoing = { readonly to: string; readonly messages: readonly string[] }

type Parts = {
  readonly channelOf: (tenant: string, id: string) => Channel | undefined
  /** Something waits to be taken. */
  readonly onWaiting: () => void
  readonly now: () => number
}

/**
 * What is live of the conversations that are driven here, for the nodes that have announced that they watch them. It is collected until it is taken, in turn over all
 * conversations. What exceeds a bound is dropped and sent anew as a whole.
 */
export class LiveSender {
  readonly #parts: Parts
  readonly #watched = new Map<string, Watched>()
  /** The keys of those that have something to send, the longest waiting first. */
  readonly #due = new Set<string>()
  #announced = 0
  #waiting = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get isWaiting(): boolean {
    return this.#due.size > 0
  }

  get isWatched(): boolean {
    return this.#watched.size > 0
  }

  /** A node has announced that it watches a conversation. */
  watch(node: string, { tenant, id }: ConversationRef, isNew: boolean): void {
    const key = conversationKey(tenant, id)
    const known = this.#watched.get(key) ?? {
      tenant,
      id,
      nodes: new Map(),
      items: [],
      waiting: 0,
      epoch: 0,
      place: null,
    }
    const watcher = known.nodes.get(node)
    if (!watcher && (this.#announced >= mostAnnounced || known.nodes.size >= mostNodes)) return
    if (!watcher) this.#announced += 1
    const needsWhole = isNew || !watcher || watcher.needsWhole
    known.nodes.set(node, { until: this.#parts.now() + interestMs, needsWhole })
    this.#watched.set(key, known)
    if (needsWhole && this.#ownedChannel(known)) this.#isDue(key)
  }

  /** An owner begins to work here: whatever the nodes have is another's. */
  attached(tenant: string, id: string): void {
    const watched = this.#watched.get(conversationKey(tenant, id))
    if (watched) this.#sendWhole(watched)
  }

  emitted(tenant: string, event: LiveEvent, epoch: number, channel: Channel): void {
    if (this.#watched.size === 0) return
    const watched = this.#watched.get(conversationKey(tenant, event.conversationId))
    if (!watched) return
    if (epoch !== watched.epoch) {
      watched.epoch = epoch
      return this.#sendWhole(watched)
    }
    if (isDelta(event)) this.#addText(watched, event, channel)
    else if (event.type === 'phase_changed' || event.type === 'message_discarded' || event.type === 'tool_progress') {
      const { seq, conversationId: _, ...content } = event
      this.#add(watched, { type: 'other', seq, content } as LiveItem, JSON.stringify(content).length)
    }
  }

  /** What was sent may be lost. */
  lost(): void {
    for (const watched of this.#watched.values()) if (this.#ownedChannel(watched)) this.#sendWhole(watched)
  }

  /** The next batch for the nodes that watch the conversation whose turn it is. Null when nothing waits. */
  take(): readonly Outgoing[] | null {
    const [key] = this.#due
    if (key === undefined) return null
    this.#due.delete(key)
    const watched = this.#watched.get(key)
    if (!watched) return []
    const { items, nodes, epoch } = watched
    this.#drop(watched)
    const ref = { tenant: watched.tenant, id: watched.id }
    const channel = this.#ownedChannel(watched)
    const news = items.length > 0 ? encoded(ref, epoch, items) : []
    let whole: readonly string[] | null = null
    return [...nodes].flatMap(([to, watcher]) => {
      if (watcher.until <= this.#parts.now()) return []
      if (!watcher.needsWhole) return news.length > 0 ? [{ to, messages: news }] : []
      if (!channel) return []
      watcher.needsWhole = false
      watched.epoch = channel.epoch
      whole ??= encoded(ref, channel.epoch, wholeOf(channel))
      return [{ to, messages: whole }]
    })
  }

  /** Forgets the announcements that were not renewed. */
  sweep(): void {
    const now = this.#parts.now()
    for (const [key, watched] of this.#watched) {
      for (const [node, { until }] of watched.nodes) {
        if (until > now) continue
        watched.nodes.delete(node)
        this.#announced -= 1
      }
      if (watched.nodes.size > 0) continue
      this.#drop(watched)
      this.#watched.delete(key)
      this.#due.delete(key)
    }
  }

  #addText(watched: Watched, event: DeltaEvent, channel: Channel): void {
    const { seq, turnId, messageId, n, attempt = 1, delta, part } = event
    const { place } = watched
    if (place?.messageId === messageId && place.n === n - 1) {
      place.n = n
      place.characters += delta.length
    } else {
      const draft = channel.live.drafts.find((candidate) => candidate.messageId === messageId)
      if (!draft) return
      watched.place = { messageId, n, characters: charactersOf(draft) }
    }
    const at = watched.place!.characters - delta.length
    if (delta === '' || at + delta.length > mostCharacters) return
    const kind = kindOf(event)
    const last = watched.items.at(-1)
    const continues = last?.type === 'text' && last.messageId === messageId && last.kind === kind && last.part === part
    if (continues && last.text.length + delta.length <= pieceCharacters && last.at + last.text.length === at) {
      watched.items[watched.items.length - 1] = { ...last, text: last.text + delta }
      return this.#hasAdded(watched, delta.length)
    }
    const name = event.type === 'tool_input_delta' ? event.name : ''
    for (const item of pieces({ type: 'text', seq, turnId, messageId, attempt, at, kind, part, name, text: delta }))
      this.#add(watched, item, item.text.length)
  }

  #add(watched: Watched, item: LiveItem, characters: number): void {
    watched.items.push(item)
    this.#hasAdded(watched, characters + itemCharacters)
  }

  #hasAdded(watched: Watched, characters: number): void {
    watched.waiting += characters
    this.#waiting += characters
    if (watched.waiting > mostWaiting || this.#waiting > mostWaitingInAll) this.#sendWhole(watched)
    else this.#isDue(conversationKey(watched.tenant, watched.id))
  }

  #sendWhole(watched: Watched): void {
    this.#drop(watched)
    for (const watcher of watched.nodes.values()) watcher.needsWhole = true
    this.#isDue(conversationKey(watched.tenant, watched.id))
  }

  #drop(watched: Watched): void {
    this.#waiting -= watched.waiting
    watched.waiting = 0
    watched.items = []
  }

  #isDue(key: string): void {
    this.#due.add(key)
    this.#parts.onWaiting()
  }

  #ownedChannel({ tenant, id }: ConversationRef): Channel | null {
    const channel = this.#parts.channelOf(tenant, id)
    return channel?.isOwned ? channel : null
  }
}

/** What an item takes beside its text, about. */
const itemCharacters = 150

function wholeOf(channel: Channel): LiveItem[] {
  const { activity, drafts, progress } = channel.live
  const seq = channel.ownedSeq
  const draft = drafts.at(-1)
  const items: LiveItem[] = [{ type: 'whole', seq, activity, messageId: draft?.messageId ?? null }]
  for (const [callId, payload] of Object.entries(progress))
    items.push({ type: 'other', seq, content: { type: 'tool_progress', callId, payload } })
  if (draft) items.push(...textsOf(draft, seq))
  items.push({ type: 'end', seq })
  return items
}

function textsOf(draft: Draft, seq: number): TextItem[] {
  const { turnId, messageId, attempt = 1 } = draft
  let at = 0
  const items: TextItem[] = []
  for (const { type: kind, part, name = '', text: all } of draft.parts) {
    const text = all.slice(0, mostCharacters - at)
    items.push(...pieces({ type: 'text', seq, turnId, messageId, attempt, at, kind, part, name, text }))
    at += text.length
    if (at >= mostCharacters) break
  }
  return items
}

function pieces(item: TextItem): TextItem[] {
  if (item.text.length <= pieceCharacters) return item.text === '' ? [] : [item]
  const count = Math.ceil(item.text.length / pieceCharacters)
  return Array.from({ length: count }, (_, index) => {
    const from = index * pieceCharacters
    return { ...item, at: item.at + from, text: item.text.slice(from, from + pieceCharacters) }
  })
}

/** As few messages as possible. An item that fits in none is dropped. */
function encoded(ref: ConversationRef, epoch: number, items: readonly LiveItem[]): string[] {
  const message = (some: readonly LiveItem[]): string => encodeMessage({ ...ref, type: 'live', epoch, items: some })
  const whole = message(items)
  if (Buffer.byteLength(whole) <= messageBytes) return [whole]
  if (items.length === 1) return []
  const middle = Math.ceil(items.length / 2)
  return [...encoded(ref, epoch, items.slice(0, middle)), ...encoded(ref, epoch, items.slice(middle))]
}

function kindOf({ type }: DeltaEvent): TextItem['kind'] {
  if (type === 'tool_input_delta') return 'tool_input'
  return type === 'text_delta' ? 'text' : 'reasoning'
}
