import type { Logger } from '../../base/logger.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { TenantChanges } from '../../runtime/read/tenant-changes.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { Disclosure } from '../../view/disclose.ts'
import type { Limits } from '../server-options.ts'
import { Feed, type Followed, type Follower } from './feed.ts'
import type { Cursor } from './frame.ts'
import type { Subscription } from './subscription.ts'
import { TenantFeed } from './tenant-feed.ts'

/**
 * What a feed watches. `conversation` must disclose exactly what `disclosure` says, since all clients share the feed.
 */
export type Watched = {
  readonly ref: ConversationRef
  readonly conversation: Conversation
  readonly disclosure: Disclosure
  /** Whether `authorize` was asked about the client: see `Subscription`. Default: false. */
  readonly isJudged?: boolean
}

/**
 * All live feeds of a server. A feed without clients is kept for `lingerMs`, so a client that reconnects can continue
 * where it was.
 */
export class Feeds {
  readonly #limits: Limits
  readonly #logger: Logger
  readonly #feeds = new Map<string, Feed>()
  readonly #lingering = new Map<string, NodeJS.Timeout>()
  readonly #tenants = new Map<string, TenantFeed>()
  readonly #lingeringTenants = new Map<string, NodeJS.Timeout>()
  /** Streams of one client each. */
  readonly #streams = new Set<Subscription>()
  #isClosed = false

  constructor(limits: Limits, logger: Logger) {
    this.#limits = limits
    this.#logger = logger
  }

  /** Open streams. */
  get subscribers(): number {
    let total = this.#streams.size
    for (const feed of this.#feeds.values()) total += feed.subscribers
    return total
  }

  /** Feeds in memory. */
  get size(): number {
    return this.#feeds.size
  }

  /** Null when the server is closing. Throws when the log cannot be read. */
  async subscribe(watched: Watched, cursor: Cursor | null): Promise<Subscription | null> {
    return this.#with(watched, (feed) => feed.subscribe(cursor, watched.isJudged))
  }

  /** See `Feed.follow`. Null when the server is closing. Throws when the log cannot be read. */
  async follow(watched: Watched, seq: number, follower: Follower): Promise<Followed | null> {
    return this.#with(watched, (feed) => feed.follow(seq, follower))
  }

  /** Counts a stream that has its own source until `streamClosed`. False when the server is closing. */
  streamOpened(subscription: Subscription): boolean {
    if (!this.#isClosed) this.#streams.add(subscription)
    return !this.#isClosed
  }

  streamClosed(subscription: Subscription): void {
    this.#streams.delete(subscription)
  }

  /** The feed of a tenant, shared by all its clients. Null when the server is closing. */
  tenant(changes: TenantChanges): TenantFeed | null {
    if (this.#isClosed) return null
    const { tenant } = changes
    clearTimeout(this.#lingeringTenants.get(tenant))
    this.#lingeringTenants.delete(tenant)
    const known = this.#tenants.get(tenant)
    if (known) return known
    const feed = new TenantFeed(changes, this.#logger, () => this.#lingerTenant(tenant))
    this.#tenants.set(tenant, feed)
    return feed
  }

  #lingerTenant(tenant: string): void {
    if (this.#isClosed) return
    clearTimeout(this.#lingeringTenants.get(tenant))
    const timer = setTimeout(() => {
      this.#lingeringTenants.delete(tenant)
      const feed = this.#tenants.get(tenant)
      if (!feed || feed.clients > 0) return
      this.#tenants.delete(tenant)
      feed.close()
    }, this.#limits.lingerMs)
    timer.unref()
    this.#lingeringTenants.set(tenant, timer)
  }

  async #with<T>(
    { ref, conversation, disclosure }: Watched,
    join: (feed: Feed) => Promise<T | null>,
  ): Promise<T | null> {
    if (this.#isClosed) return null
    const key = JSON.stringify([ref.tenant, ref.id, disclosure.errors, disclosure.withheld])
    clearTimeout(this.#lingering.get(key))
    this.#lingering.delete(key)
    const joined = await join(this.#feed(key, conversation))
    if (this.#feeds.get(key)?.subscribers === 0) this.#linger(key)
    return joined
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#lingering.values()) clearTimeout(timer)
    this.#lingering.clear()
    for (const feed of this.#feeds.values()) feed.close()
    this.#feeds.clear()
    for (const timer of this.#lingeringTenants.values()) clearTimeout(timer)
    for (const feed of this.#tenants.values()) feed.close()
    this.#tenants.clear()
    for (const subscription of this.#streams) subscription.close()
  }

  #feed(key: string, conversation: Conversation): Feed {
    const known = this.#feeds.get(key)
    if (known && !known.isEnded) return known
    const feed = new Feed(conversation, this.#limits, this.#logger, () => {
      if (this.#feeds.get(key) === feed) this.#linger(key)
    })
    this.#feeds.set(key, feed)
    return feed
  }

  #linger(key: string): void {
    if (this.#isClosed) return
    clearTimeout(this.#lingering.get(key))
    const timer = setTimeout(() => {
      this.#lingering.delete(key)
      const feed = this.#feeds.get(key)
      if (!feed || feed.subscribers > 0) return
      this.#feeds.delete(key)
      feed.close()
    }, this.#limits.lingerMs)
    timer.unref()
    this.#lingering.set(key, timer)
  }
}
