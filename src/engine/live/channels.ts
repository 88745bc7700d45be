import { type Clock, systemClock } from '../../base/clock.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import { readBounds } from '../../store/log-pages.ts'
import type { Store } from '../../store/store.ts'
import { bound, loadWhole, type WorkingSet, type WorkingSets, withEvents } from '../../store/working-sets.ts'
import { Channel, type Reading } from './channel.ts'
import type { Watcher } from './log-poll.ts'

/** The channels of this process: one for each conversation that is worked on or watched here. */
export class Channels {
  readonly #store: Store
  readonly #workingSets: WorkingSets
  readonly #channels = new Map<string, { readonly tenant: string; readonly channel: Channel }>()

  readonly clock: Clock

  constructor(store: Store, workingSets: WorkingSets, clock: Clock = systemClock) {
    this.clock = clock
    this.#store = store
    this.#workingSets = workingSets
  }

  of(tenant: string, id: string): Channel {
    const key = conversationKey(tenant, id)
    const known = this.#channels.get(key)?.channel
    if (known) return known
    const channel = new Channel(id, (workingSet) => this.#read(tenant, id, workingSet))
    this.#channels.set(key, { tenant, channel })
    return channel
  }

  peek(tenant: string, id: string): Channel | undefined {
    return this.#channels.get(conversationKey(tenant, id))?.channel
  }

  /** Forgets a channel nobody uses. Called when a watcher leaves or an owner lets go. */
  tidy(tenant: string, id: string): void {
    if (this.peek(tenant, id)?.isUnused) this.#channels.delete(conversationKey(tenant, id))
  }

  /** Those that somebody listens to: hints may be lost, and nobody must wait for ever. */
  *watchers(): Iterable<Watcher> {
    for (const { tenant, channel } of this.#channels.values()) {
      const known = channel.watched()
      if (!known) continue
      // One that has gone on meanwhile is looked at the next time.
      const look = async (): Promise<void> => {
        if (channel.watched()?.seq === known.seq) await channel.poll()
      }
      yield { tenant, id: channel.conversationId, ...known, status: null, look }
    }
  }

  async #read(tenant: string, id: string, known: WorkingSet | null): Promise<Reading> {
    const store = this.#store.forTenant(tenant)
    if (!known) return { ...(await this.#workingSets.load(store, tenant, id)), events: null }
    const { lastSeq } = known.state
    const page = await store.pageEvents(id, { ...readBounds, after: Math.max(0, lastSeq - 1), keep: 'oldest' })
    const isSameLog = lastSeq === 0 || (page.first?.seq === lastSeq && page.first.at === known.lastAt)
    if (!isSameLog) return { ...(await loadWhole(store, id, bound)), events: null }
    const events = lastSeq === 0 ? [...page.events] : [...page.events].slice(1)
    // A page has room for the event that is known and for any other. Where it has nothing new there is nothing, though a large event may make it say that more may follow.
    return { ...withEvents(known, events), events, hasMore: page.hasMore && events.length > 0 }
  }
}
