import { randomBytes } from 'node:crypto'
import type { Logger } from '../../base/logger.ts'
import type { LogEvent } from '../../log/events.ts'
import { openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { GrowingView, type WatchEvent } from '../../view/growing-view.ts'
import { charactersOf, isTextDelta } from '../../view/live-events.ts'
import type { View } from '../../view/view.ts'
import type { Limits } from '../server-options.ts'
import { type Cursor, catchUp, frameOf, hasMessage, heartbeat, snapshotFrame } from './frame.ts'
import { Subscription } from './subscription.ts'

/**
 * A client that was connected to another node may be ahead of this one. This is how long to wait for the wake-up hint.
 */
const behindMs = 2_000
/** The same for text that is being written. */
const unwrittenMs = 2_000
const maxBuffered = 100_000

/** Receives views of a conversation as it changes. Must not throw. */
export type Follower = {
  next(view: View): void
  /** Called when nothing has happened for a heartbeat interval. */
  beat(frame: Uint8Array): void
  /** Called once, after the last view. */
  end(): void
  /** The log is another one now: it was deleted, or deleted and begun anew. Called before its first view. */
  replaced(): void
}

export type Followed = { readonly view: View; stop(): void }

/**
 * The live feed of one conversation, shared by all its clients on this server: it watches once, encodes each event
 * once, and sends the same bytes to every client.
 */
export class Feed {
  readonly #conversation: Conversation
  readonly #limits: Limits
  readonly #logger: Logger
  readonly #name = randomBytes(5).toString('hex')
  readonly #subscriptions = new Set<Subscription>()
  readonly #followers = new Set<Follower>()
  readonly #stop = new AbortController()
  readonly #onIdle: () => void
  readonly #ready: Promise<void>
  readonly #recent: Recent
  #shown: GrowingView | null = null
  /** The view that followers received last. */
  #lastSent: View | null = null
  #scheduledNotify: NodeJS.Immediate | null = null
  /** Calls with progress that followers have not seen. The call's next event would remove it from the view. */
  readonly #unsentProgress = new Set<string | undefined>()
  #lastAt: number | null = null
  #snapshot: { readonly view: View; readonly frame: Uint8Array } | null = null
  #isEnded = false
  #failure: unknown = null
  #heartbeats: NodeJS.Timeout
  #whenGrown = new Set<() => void>()

  /** `onIdle` is called each time the last client leaves. */
  constructor(conversation: Conversation, limits: Limits, logger: Logger, onIdle: () => void) {
    this.#conversation = conversation
    this.#limits = limits
    this.#logger = logger
    this.#onIdle = onIdle
    this.#recent = new Recent(limits.streamBytes / 2)
    this.#heartbeats = setInterval(() => {
      for (const watching of [...this.#subscriptions, ...this.#followers]) watching.beat(heartbeat)
    }, limits.heartbeatMs)
    this.#heartbeats.unref()
    this.#ready = new Promise((resolve) => void this.#run(resolve))
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get subscribers(): number {
    return this.#subscriptions.size + this.#followers.size
  }

  /**
   * Continues after `cursor`, or begins with a snapshot. Null when the server is closing. Throws when the log cannot be
   * read. `isJudged`: see `Subscription`.
   */
  async subscribe(cursor: Cursor | null, isJudged = false): Promise<Subscription | null> {
    await this.#ready
    const from = cursor && (await this.#isOfThisLog(cursor)) ? cursor : null
    if (from?.draft && from.place?.feed !== this.#name) await this.#written(from.draft)
    // No await from here on: no event may come between the missed frames and the pushed ones.
    if (this.#failure !== null) throw this.#failure
    if (this.#isEnded || !this.#shown) return null
    const { view } = this.#shown
    const missed = from?.place?.feed === this.#name ? this.#recent.after(from.place.index) : null
    const { streamBytes, answerBytes } = this.#limits
    const first = from && !missed ? catchUp(this.#conversation, from, view, this.#cursor(), answerBytes) : null
    const onClose = (): void => {
      if (this.#subscriptions.delete(subscription) && this.subscribers === 0) this.#onIdle()
    }
    const subscription = new Subscription(streamBytes, first, onClose, { isJudged })
    for (const frame of missed ?? (from ? [] : [this.#snapshotFrame(view)])) subscription.push(frame)
    this.#subscriptions.add(subscription)
    return subscription
  }

  /**
   * Sends the current view, which includes the log up to `seq`, and every later view to `follower`. Text deltas are
   * sent at once; other events are sent once per event loop tick. Null when the server is closing.
   */
  async follow(seq: number, follower: Follower): Promise<Followed | null> {
    await this.#ready
    if (seq > this.#seq) await this.#grownTo(seq)
    // No await from here on: no event may come between this view and the next ones.
    if (this.#failure !== null) throw this.#failure
    if (this.#isEnded || !this.#shown) return null
    this.#notifyFollowers()
    const { view } = this.#shown
    follower.next(view)
    this.#followers.add(follower)
    const stop = (): void => {
      if (this.#followers.delete(follower) && this.subscribers === 0) this.#onIdle()
    }
    return { view, stop }
  }

  close(): void {
    this.#stop.abort()
    this.#end()
  }

  async #run(ready: () => void): Promise<void> {
    try {
      for await (const event of this.#conversation.watch({ signal: this.#stop.signal, maxBuffered: maxBuffered })) {
        if (this.#shown) this.#take(event, this.#shown)
        else if (event.type === 'snapshot') {
          this.#lastAt = (await this.#eventAt(event.view.seq))?.at ?? null
          this.#shown = new GrowingView(event.view)
          this.#lastSent = event.view
          ready()
        }
      }
    } catch (error) {
      // Clients reconnect, and get the error then if the log cannot be read at all.
      this.#failure = error
      this.#logger.warn('a live stream failed', { id: this.#conversation.id, error })
    } finally {
      this.#end()
      ready()
    }
  }

  #take(event: WatchEvent, shown: GrowingView): void {
    if (this.#unsentProgress.has(callOf(event))) this.#notifyFollowers()
    if (event.type === 'tool_progress') this.#unsentProgress.add(event.callId)
    shown.take(event)
    this.#snapshot = null
    if (event.type === 'snapshot') this.#replaced()
    else if ('content' in event) this.#lastAt = event.at
    const cursor = this.#cursor(this.#recent.lastIndex + 1)
    const isSnapshot = event.type === 'snapshot'
    const frame = isSnapshot ? snapshotFrame(event.view, cursor, this.#limits.answerBytes) : frameOf(event, cursor)
    this.#recent.push(frame)
    for (const subscription of this.#subscriptions) subscription.push(frame)
    if (isTextDelta(event)) this.#notifyFollowers()
    else this.#scheduledNotify ??= setImmediate(() => this.#notifyFollowers())
    for (const grown of this.#whenGrown) grown()
  }

  /** A snapshot that is not the first is of another log. Who may read the one before may not be one who may read this. */
  #replaced(): void {
    this.#lastAt = null
    for (const subscription of this.#subscriptions) if (subscription.isJudged) subscription.cut()
    for (const follower of [...this.#followers]) follower.replaced()
  }

  /**
   * Building a view costs as much as its size, and a commit may have thousands of events. So it is built once per event
   * loop tick.
   */
  #notifyFollowers(): void {
    if (this.#scheduledNotify) clearImmediate(this.#scheduledNotify)
    this.#scheduledNotify = null
    this.#unsentProgress.clear()
    const view = this.#shown?.view ?? null
    if (!view || view === this.#lastSent) return
    this.#lastSent = view
    for (const follower of [...this.#followers]) follower.next(view)
  }

  get #seq(): number {
    return this.#shown?.seq ?? 0
  }

  /** The cursor after all events received so far. */
  #cursor(index = this.#recent.lastIndex): Cursor {
    const written = this.#shown!.drafts.at(-1)
    const draft = written ? { messageId: written.messageId, characters: charactersOf(written) } : null
    const place = { feed: this.#name, index }
    return { seq: this.#seq, at: this.#lastAt, draft, place }
  }

  /** Cached: many clients may connect at the same moment, as after a restart. */
  #snapshotFrame(view: View): Uint8Array {
    if (this.#snapshot?.view !== view)
      this.#snapshot = { view, frame: snapshotFrame(view, this.#cursor(), this.#limits.answerBytes) }
    return this.#snapshot.frame
  }

  async #isOfThisLog(cursor: Cursor): Promise<boolean> {
    if (cursor.place?.feed === this.#name) return true
    if (cursor.seq === 0) return true
    const event = await this.#eventAt(cursor.seq)
    if (!event || (cursor.at !== null && cursor.at !== event.at)) return false
    if (cursor.seq > this.#seq) await this.#grownTo(cursor.seq)
    return cursor.seq <= this.#seq
  }

  async #eventAt(seq: number): Promise<LogEvent | undefined> {
    if (seq === 0) return undefined
    const [event] = await this.#conversation.events({ after: seq - 1, before: seq + 1 })
    return event
  }

  #grownTo(seq: number): Promise<void> {
    return this.#until(() => this.#seq >= seq, behindMs)
  }

  /** Text comes from the node that writes it, and the client may have more of it than this one. Else it would vanish for a moment. */
  #written({ messageId, characters }: NonNullable<Cursor['draft']>): Promise<void> {
    const isWritten = (): boolean => {
      const { drafts, log } = this.#shown!
      const draft = drafts.find((known) => known.messageId === messageId)
      if (draft) return charactersOf(draft) >= characters
      return drafts.length > 0 || openTurn(log) === null || hasMessage(log, messageId)
    }
    return this.#until(() => this.#shown === null || isWritten(), unwrittenMs)
  }

  async #until(isSo: () => boolean, ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.#isEnded || isSo()) done()
      }
      const timer = setTimeout(() => done(), ms)
      const done = (): void => {
        clearTimeout(timer)
        this.#whenGrown.delete(look)
        resolve()
      }
      this.#whenGrown.add(look)
      look()
    })
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#notifyFollowers()
    clearInterval(this.#heartbeats)
    for (const watching of [...this.#subscriptions, ...this.#followers]) watching.end()
    for (const grown of this.#whenGrown) grown()
  }
}

/** The call that a log event belongs to. */
function callOf(event: WatchEvent): string | undefined {
  return 'content' in event && 'callId' in event.content ? event.content.callId : undefined
}

/** The newest frames of a feed, numbered from 1 and limited in bytes. */
class Recent {
  readonly #maxBytes: number
  #frames: Uint8Array[] = []
  #bytes = 0
  #lastIndex = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get lastIndex(): number {
    return this.#lastIndex
  }

  push(frame: Uint8Array): void {
    this.#lastIndex += 1
    this.#frames.push(frame)
    this.#bytes += frame.byteLength
    while (this.#bytes > this.#maxBytes) this.#bytes -= this.#frames.shift()!.byteLength
  }

  /** Null if some of the frames after `index` have been dropped. */
  after(index: number): readonly Uint8Array[] | null {
    const missed = this.#lastIndex - index
    if (missed < 0 || missed > this.#frames.length) return null
    return missed === 0 ? [] : this.#frames.slice(-missed)
  }
}
