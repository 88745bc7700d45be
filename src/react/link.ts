import { PerdureError } from '../base/errors/perdure-error.ts'
import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import type { Client } from '../client/create-client.ts'
import type { LiveFrame } from '../client/live.ts'
import type { WatchEvent } from '../view/growing-view.ts'
import { LiveStore } from './live-store.ts'
import { Tab } from './tab.ts'

/** Whether the page is connected to the server. */
export type Connection = {
  /** `offline`: the last attempt failed, and another follows at `nextAttemptAt`. */
  readonly status: 'connecting' | 'live' | 'offline'
  /** Set while `offline`: the time of the next attempt, in milliseconds since 1970. Null if the server refuses permanently. */
  readonly nextAttemptAt: number | null
  /** Why the last attempt failed; null while `live`. */
  readonly error: unknown
}

/** What a follower of a conversation receives. */
export type Follower = {
  /** `id`: what to continue after. */
  onEvent(event: WatchEvent, id: string | null): void
  onConnect(): void
  /** The connection is lost; the link makes it again. */
  onDisconnect(error: unknown): void
  /** There is no such conversation, or the server refuses permanently. */
  onEnd(error: unknown): void
}

/** A change of the tenant that lists may show. `reset`: everything must be read again. */
export type Change = Exclude<LiveFrame, { readonly type: 'watched' | 'unwatched' }>

/** What a reader of lists receives: a `reset` first, then changes. */
export type Listener = {
  onChange(change: Change): void
  /** The changes that were missed follow, or a `reset`. */
  onConnect(): void
  onDisconnect(error: unknown): void
}

/** As many conversations as one feed takes. Those beyond have a stream of their own. */
const mostWatched = 8

/** How often lists are read again where the server has no feed. */
const pollMs = 3_000

const connecting: Connection = { status: 'connecting', nextAttemptAt: null, error: null }
const connected: Connection = { status: 'live', nextAttemptAt: null, error: null }

type Followed = { readonly follower: Follower; lastId: string | null; hasEnded: boolean; alone: AloneStream | null }

/**
 * Everything a page receives from its server, over one connection: the events of the conversations that it shows, and what changes in lists. The connection is open while
 * anything on the page needs it, and continues where it was.
 */
export class Link {
  readonly client: Client
  readonly tab: Tab
  readonly connection: LiveStore<Connection>
  readonly #followed = new Map<string, Followed>()
  readonly #listeners = new Set<Listener>()
  readonly #reports = new Map<object, Connection>()
  /** The last frame of the feed: it continues there. Null: it begins with `reset`. */
  #lastId: string | null = null
  #hasReset = false
  #feed: AbortController | null = null
  #opening: ReturnType<typeof setTimeout> | undefined
  /** A server of an earlier version has no feed. */
  #polling: ReturnType<typeof setInterval> | undefined

  constructor(client: Client, tab: Tab = new Tab()) {
    this.client = client
    this.tab = tab
    this.connection = new LiveStore<Connection>(tab, connecting, () => () => {})
  }

  /** Follows a conversation after an event, until the returned function is called. */
  follow(id: string, after: string | null, follower: Follower): () => void {
    const followed: Followed = { follower, lastId: after, hasEnded: false, alone: null }
    this.#followed.set(id, followed)
    if (this.#polling !== undefined || this.#watched().length > mostWatched) this.#followAlone(id, followed)
    else this.#reopen()
    return () => {
      followed.alone?.stop()
      if (this.#followed.get(id) === followed) this.#followed.delete(id)
      this.#closeIfIdle()
    }
  }

  /** Tells of changes of the tenant until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    if (!this.#feed) this.#reopen()
    // Changes from now on are reported to the listener.
    else if (this.#hasReset) listener.onChange({ type: 'reset' })
    return () => {
      this.#listeners.delete(listener)
      this.#closeIfIdle()
    }
  }

  /** Does not wait for the time of the next attempt. */
  readonly retry = (): void => {
    for (const { alone } of this.#followed.values()) alone?.retry()
    if (this.#reports.get(this)?.status === 'offline') this.#reopen()
  }

  #watched(): [string, Followed][] {
    return [...this.#followed].filter(([, { alone }]) => alone === null)
  }

  #followAlone(id: string, followed: Followed): void {
    const report = (connection: Connection | null): void => this.#report(followed, connection)
    followed.alone = aloneStream(this.client, id, followed.lastId, followed.follower, report)
  }

  /** Components that mount together need one connection. */
  #reopen(): void {
    if (this.#polling !== undefined) return
    clearTimeout(this.#opening)
    this.#opening = setTimeout(() => {
      this.#feed?.abort()
      this.#feed = new AbortController()
      void this.#run(this.#feed.signal)
    }, 0)
  }

  #closeIfIdle(): void {
    if (this.#followed.size > 0 || this.#listeners.size > 0) return
    clearTimeout(this.#opening)
    clearInterval(this.#polling)
    this.#polling = undefined
    this.#feed?.abort()
    this.#feed = null
    this.#hasReset = false
    this.#lastId = null
    this.#report(this, null)
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (this.connection.value.status !== 'live') this.#report(this, connecting)
    const frames = this.client.live({
      ...(this.#lastId === null ? {} : { after: this.#lastId }),
      watch: Object.fromEntries(this.#watched().map(([id, { lastId }]) => [id, lastId])),
      signal,
      onConnect: () => this.#connected(),
      onDisconnect: (error, retryInMs) => {
        if (!signal.aborted) this.#disconnected(error, Date.now() + retryInMs)
      },
    })
    try {
      for await (const { id, event } of frames) {
        if (signal.aborted) return
        this.#lastId = id
        this.#tell(event)
      }
    } catch (error) {
      if (signal.aborted) return
      if (PerdureError.isInstance(error) && error.code === 'route_not_found') return this.#poll()
      this.#disconnected(error, null)
    }
  }

  #connected(): void {
    this.#report(this, connected)
    for (const [, { follower, hasEnded }] of this.#watched()) if (!hasEnded) follower.onConnect()
    for (const { onConnect } of [...this.#listeners]) onConnect()
  }

  /** `nextAttemptAt` is null where the server refuses for good. */
  #disconnected(error: unknown, nextAttemptAt: number | null): void {
    this.#report(this, { status: 'offline', nextAttemptAt, error })
    for (const [, { follower }] of this.#watched())
      if (nextAttemptAt === null) follower.onEnd(error)
      else follower.onDisconnect(error)
    for (const { onDisconnect } of [...this.#listeners]) onDisconnect(error)
    // The server has too many streams: lists can still be read.
    if (PerdureError.isInstance(error) && error.code === 'rate_limited') this.#change({ type: 'reset' })
  }

  #poll(): void {
    this.#report(this, connected)
    for (const [id, followed] of this.#watched()) this.#followAlone(id, followed)
    this.#hasReset = true
    this.#change({ type: 'reset' })
    this.#polling = setInterval(() => this.#change({ type: 'reset' }), pollMs)
  }

  #tell(frame: LiveFrame): void {
    if (frame.type === 'watched') {
      const followed = this.#followed.get(frame.conversationId)
      if (!followed || followed.alone) return
      followed.lastId = frame.id
      followed.hasEnded = false
      return followed.follower.onEvent(frame.event, frame.id)
    }
    if (frame.type === 'unwatched') return this.#end(frame.conversationId)
    if (frame.type === 'gone') this.#end(frame.id)
    if (frame.type === 'reset') this.#hasReset = true
    // It did not exist when it was asked for.
    if (frame.type === 'conversation' && this.#followed.get(frame.record.id)?.hasEnded) this.#reopen()
    this.#change(frame)
  }

  #end(id: string): void {
    const followed = this.#followed.get(id)
    if (!followed || followed.alone) return
    followed.hasEnded = true
    followed.lastId = null
    followed.follower.onEnd(new ConversationNotFoundError(id))
  }

  #change(change: Change): void {
    for (const { onChange } of [...this.#listeners]) onChange(change)
  }

  /** What is known of one stream; null when it is gone. The worst of all is the page's. */
  #report(stream: object, connection: Connection | null): void {
    if (connection) this.#reports.set(stream, connection)
    else this.#reports.delete(stream)
    const all = [...this.#reports.values()]
    const worst = ['offline', 'connecting'].map((status) => all.find((report) => report.status === status))
    this.connection.set(worst[0] ?? worst[1] ?? all[0] ?? connecting)
  }
}

/** A stream that a page opens beside its feed. */
type AloneStream = { stop(): void; retry(): void }

/** Follows one conversation over a connection of its own. `report` receives its state; null when the conversation is gone. */
function aloneStream(
  client: Client,
  id: string,
  after: string | null,
  follower: Follower,
  report: (connection: Connection | null) => void,
): AloneStream {
  let lastId = after
  let isLost = false
  let stop = new AbortController()
  const run = async (): Promise<void> => {
    const { signal } = stop
    isLost = false
    const events = client.conversation(id).watch({
      ...(lastId === null ? {} : { after: lastId }),
      signal,
      onConnect: () => {
        isLost = false
        report({ status: 'live', nextAttemptAt: null, error: null })
        follower.onConnect()
      },
      onDisconnect: (error, retryInMs) => {
        isLost = true
        report({ status: 'offline', nextAttemptAt: Date.now() + retryInMs, error })
        follower.onDisconnect(error)
      },
    })
    try {
      for await (const watched of events) {
        if (signal.aborted) return
        lastId = watched.id
        follower.onEvent(watched.event, lastId)
      }
    } catch (error) {
      if (signal.aborted) return
      report(null)
      follower.onEnd(error)
    }
  }
  void run()
  return {
    stop: () => {
      stop.abort()
      report(null)
    },
    retry: () => {
      if (!isLost) return
      stop.abort()
      stop = new AbortController()
      void run()
    },
  }
}
