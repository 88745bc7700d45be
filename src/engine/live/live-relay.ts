import { type LiveBus, type LiveLink, type LiveMessage, maxBatchBytes } from '../../store/live-bus.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { Channel } from './channel.ts'
import type { ChannelRelay } from './channel-relay.ts'
import { encodeMessage, messagesOf, type NodeMessage, noSeal, type Seal, textOf } from './live-message.ts'
import { LiveReceiver, renewMs } from './live-receiver.ts'
import { LiveSender } from './live-sender.ts'

/** Between two batches: a lone message is sent at once, later ones are collected. */
const minIntervalMs = 25
/** The most that one node sends. Beyond it, live events are sent less often. */
const bytesPerSecond = 4 * 1024 * 1024
/** After this much a batch takes no other conversation. */
const fullBatchBytes = 128 * 1024
/** Of a text, before it is sealed. */
const textBytes = 48 * 1024
const pauseAfterFailureMs = 1_000
/** Conversations that one node announces at once, and the most in one message. */
const mostWatched = 20_000
const announcedAtOnce = 40

type Announcement = ConversationRef & { readonly isNew: boolean }

/**
 * Brings what is live to the nodes that watch it. A node announces which running conversations it watches; the node that drives one tells it what is live, and begins
 * with the whole. An announcement expires. What is sent carries the epoch of the owner's lease and its place in the log, so what is late, or comes from an owner
 * that has lost its lease, changes nothing. Everything here may be lost: the log is read as before.
 */
export class LiveRelay {
  readonly #link: LiveLink
  readonly #seal: Seal
  readonly #sender: LiveSender
  readonly #watched = new Map<string, { readonly channel: Channel; readonly receiver: LiveReceiver }>()
  /** What is to be announced: to all, and to nodes that have asked. */
  readonly #announcements = new Map<string, Announcement>()
  readonly #asking = new Set<string>()
  readonly #unanswered = new Map<string, number>()
  #asksOthers = false
  #renewals: NodeJS.Timeout | null = null
  #isSending = false
  #isUp = false
  #isClosed = false

  constructor(bus: LiveBus, seal: Seal = noSeal) {
    this.#seal = seal
    this.#link = bus.join({
      message: (from, text) => this.#receive(from, text),
      connected: () => this.#connected(),
    })
    this.#sender = new LiveSender({
      channelOf: (tenant, id) => this.#watched.get(conversationKey(tenant, id))?.channel,
      onWaiting: () => this.#wake(),
      now: () => performance.now(),
    })
  }

  /** What carries the live events of a channel. */
  relayOf(tenant: string, channel: Channel): ChannelRelay {
    const id = channel.conversationId
    const receiver = new LiveReceiver({ tenant, id }, channel, {
      now: () => performance.now(),
      announce: (ref, isNew) => this.#announce(ref, isNew),
      unanswered: this.#unanswered,
    })
    this.#watched.set(conversationKey(tenant, id), { channel, receiver })
    return {
      changed: () => receiver.changed(),
      attached: () => {
        this.#open()
        this.#sender.attached(tenant, id)
        receiver.changed()
      },
      emitted: (event, epoch) => this.#sender.emitted(tenant, event, epoch, channel),
      known: () => receiver.known(),
    }
  }

  /** The channel is not used any more. */
  forget(tenant: string, id: string): void {
    this.#watched.delete(conversationKey(tenant, id))
  }

  async close(): Promise<void> {
    if (this.#renewals) clearInterval(this.#renewals)
    // The withdrawals of owners that released their logs.
    const last = this.#isUp ? this.#batch() : []
    this.#isClosed = true
    if (last.length > 0) await this.#link.send(last)
    await this.#link.close()
  }

  #open(): void {
    if (this.#renewals || this.#isClosed) return
    this.#link.open()
    this.#renewals = setInterval(() => {
      this.#sender.sweep()
      for (const { receiver } of this.#watched.values()) if (receiver.isWanted) receiver.renew()
    }, renewMs)
    this.#renewals.unref()
  }

  #announce(ref: ConversationRef, isNew: boolean): void {
    this.#open()
    const key = conversationKey(ref.tenant, ref.id)
    if (!this.#announcements.has(key) && this.#announcements.size >= mostWatched) return
    this.#announcements.set(key, { ...ref, isNew: isNew || this.#announcements.get(key)?.isNew === true })
    this.#wake()
  }

  /** What was sent before may be lost, in both directions. */
  #connected(): void {
    this.#isUp = true
    this.#asksOthers = true
    for (const { receiver } of this.#watched.values()) if (receiver.isWanted) receiver.ask()
    this.#sender.lost()
    this.#wake()
  }

  #receive(from: string, sealed: string): void {
    const text = this.#isClosed ? null : this.#seal.open(sealed)
    if (text === null) return
    for (const message of messagesOf(text)) this.#take(from, message)
  }

  #take(from: string, message: NodeMessage): void {
    if (message.type === 'watch') {
      for (const { tenant, id, isNew } of message.conversations) this.#sender.watch(from, { tenant, id }, isNew)
    } else if (message.type === 'live') {
      this.#watched.get(conversationKey(message.tenant, message.id))?.receiver.take(message.epoch, message.items)
    } else if (this.#asking.size < mostAsking) {
      this.#asking.add(from)
      this.#wake()
    }
  }

  get #isWaiting(): boolean {
    return this.#asksOthers || this.#asking.size > 0 || this.#announcements.size > 0 || this.#sender.isWaiting
  }

  #wake(): void {
    if (this.#isSending || !this.#isUp || this.#isClosed) return
    this.#isSending = true
    // What else happens now goes with it.
    setImmediate(() => void this.#sendWaiting())
  }

  async #sendWaiting(): Promise<void> {
    let pauseMs = minIntervalMs
    if (!this.#isClosed) {
      const batch = this.#batch()
      const bytes = batch.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
      pauseMs = Math.max(minIntervalMs, (bytes * 1_000) / bytesPerSecond)
      if (!(await this.#sendParts(batch))) {
        pauseMs = pauseAfterFailureMs
        this.#sender.lost()
      }
    }
    setTimeout(() => {
      this.#isSending = false
      if (this.#isWaiting) this.#wake()
    }, pauseMs).unref()
  }

  async #sendParts(batch: readonly LiveMessage[]): Promise<boolean> {
    for (let from = 0; from < batch.length; ) {
      let [to, bytes] = [from, 0]
      for (; to < batch.length && (to === from || bytes < maxBatchBytes / 2); to++)
        bytes += Buffer.byteLength(batch[to]!.text)
      if (!(await this.#link.send(batch.slice(from, to)))) return false
      from = to
    }
    return true
  }

  /** What waits, as much as one batch takes. */
  #batch(): LiveMessage[] {
    const texts = new Texts(this.#seal)
    if (this.#asksOthers) texts.add(null, encodeMessage({ type: 'who_watches' }))
    this.#asksOthers = false
    this.#addAnnouncements(texts)
    while (texts.bytes < fullBatchBytes) {
      const taken = this.#sender.take()
      if (!taken) break
      for (const { to, messages } of taken) for (const message of messages) texts.add(to, message)
    }
    return texts.end()
  }

  #addAnnouncements(texts: Texts): void {
    const add = (to: string | null, conversations: readonly Announcement[]): void => {
      for (let from = 0; from < conversations.length; from += announcedAtOnce)
        texts.add(
          to,
          encodeMessage({ type: 'watch', conversations: conversations.slice(from, from + announcedAtOnce) }),
        )
    }
    add(null, [...this.#announcements.values()])
    this.#announcements.clear()
    if (this.#asking.size === 0) return
    const wanted = [...this.#watched.values()].filter(({ receiver }) => receiver.isWanted).slice(0, mostWatched)
    const all = wanted.map(({ receiver }) => ({ ...receiver.ref, isNew: true }))
    for (const node of this.#asking) add(node, all)
    this.#asking.clear()
  }
}

/** Nodes that are answered at once. */
const mostAsking = 64

/** Puts messages for the same node together. */
class Texts {
  readonly #seal: Seal
  readonly #open = new Map<string | null, { messages: string[]; bytes: number }>()
  readonly #texts: LiveMessage[] = []
  bytes = 0

  constructor(seal: Seal) {
    this.#seal = seal
  }

  add(to: string | null, message: string): void {
    const bytes = Buffer.byteLength(message) + 1
    const open = this.#open.get(to)
    if (open && open.bytes + bytes <= textBytes) {
      open.messages.push(message)
      open.bytes += bytes
    } else {
      if (open) this.#close(to, open.messages)
      this.#open.set(to, { messages: [message], bytes })
    }
    this.bytes += bytes
  }

  end(): LiveMessage[] {
    for (const [to, { messages }] of this.#open) this.#close(to, messages)
    this.#open.clear()
    return this.#texts
  }

  #close(to: string | null, messages: readonly string[]): void {
    this.#texts.push({ to, text: this.#seal.seal(textOf(messages)) })
  }
}
