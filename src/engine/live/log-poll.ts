import { onAbort } from '../../base/abort.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { type Logger, rateLimited } from '../../base/logger.ts'
import { phaseOf } from '../../log/fsm-state.ts'
import type { ConversationState } from '../../log/state.ts'
import { hasReplaced } from '../../log/superseded.ts'
import { isSameLog, readBounds } from '../../store/log-pages.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { Store, WatchedLog } from '../../store/store.ts'
import { bound, loadWhole, type WorkingSet, type WorkingSets, withEvents } from '../../store/working-sets.ts'
import { Channel, isActivePhase, type Reading } from './channel.ts'
import type { LiveRelay } from './live-relay.ts'

/** A listener in this process that wants to hear of a log. */
export type Watcher = WatchedLog & {
  /** Called where the log is not as it was known. What it returns is waited for; it must not reject. */
  look(): unknown
}

type Parts = {
  readonly store: Pick<Store, 'movedLogs'>
  readonly clock: Clock
  readonly logger: Logger
  readonly pollMs: number
}

/** How many logs each `pollMs` is for: the more are watched, the rarer they are polled. */
const logsPerPoll = 500
/** How many logs that have moved are read at once. */
const lanes = 16

/**
 * Polls the logs that are watched in this process, in case a hint was lost. One statement asks about many logs, and only those that have moved are
 * read. Without hints a change is noticed within `pollMs`, and as much later for each 500 logs; where hints were lost and come again, at once.
 */
export class LogPoll {
  readonly #parts: Parts
  readonly #watchers: () => Iterable<Watcher>
  readonly #warn: Logger['warn']
  #isStopped = false
  #isPolling = false
  #pollsAgain = false
  #callOff = (): void => {}

  constructor(parts: Parts, watchers: () => Iterable<Watcher>) {
    this.#parts = parts
    this.#watchers = watchers
    this.#warn = rateLimited(parts.logger, () => parts.clock.now())
  }

  start(): void {
    this.#callOff = this.#parts.clock.after(this.#parts.pollMs, () => void this.#poll())
  }

  stop(): void {
    this.#isStopped = true
    this.#callOff()
  }

  /** Hints may have been lost until now. */
  look(): void {
    this.#pollsAgain = this.#isPolling
    if (this.#isPolling || this.#isStopped) return
    this.#callOff()
    void this.#poll()
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    const watchers = [...this.#watchers()]
    try {
      if (watchers.length > 0) await this.#lookAtMoved(watchers)
    } catch (error) {
      // The store is closed, and every caller that waits must hear it.
      if (PerdureError.isInstance(error) && error.code === 'store_closed') return this.#lookAt(watchers)
      this.#warn('logs that are watched could not be polled; trying again', { error })
    }
    this.#isPolling = false
    if (this.#isStopped) return
    const pauseMs = this.#pollsAgain ? 0 : this.#parts.pollMs * Math.max(1, watchers.length / logsPerPoll)
    this.#pollsAgain = false
    this.#callOff = this.#parts.clock.after(pauseMs, () => void this.#poll())
  }

  async #lookAtMoved(watchers: readonly Watcher[]): Promise<void> {
    const moved = await this.#parts.store.movedLogs(watchers.map(asKnown))
    const keys = new Set(moved.map(({ tenant, id }) => conversationKey(tenant, id)))
    await this.#lookAt(watchers.filter(({ tenant, id }) => keys.has(conversationKey(tenant, id))))
  }

  async #lookAt(watchers: readonly Watcher[]): Promise<void> {
    const queue = [...watchers]
    const lane = async (): Promise<void> => {
      for (let watcher = queue.shift(); watcher && !this.#isStopped; watcher = queue.shift()) await watcher.look()
    }
    await Promise.all(Array.from({ length: lanes }, lane))
  }
}

function asKnown({ tenant, id, seq, at, status }: WatchedLog): WatchedLog {
  return { tenant, id, seq, at, status }
}

/** What was appended to one log since a caller began to listen. Must be stopped. */
export type Hints = {
  /**
   * Resolves when something was appended since the last call, or when the log is found to be other than it is known. Rejects when the runtime is closed, or with
   * the signal's reason.
   */
  next(known: Known): Promise<void>
  stop(): void
}

type Known = Pick<WatchedLog, 'seq' | 'at' | 'status'>

/** Callers that wait for a log to grow. Hints may be lost, so the log is polled as well: see `LogPoll`. */
export class HintWaiters {
  readonly #closed: AbortSignal
  readonly #listening = new Map<string, Set<() => void>>()
  readonly #waiting = new Set<Watcher>()

  constructor(closed: AbortSignal) {
    this.#closed = closed
  }

  hint({ tenant, id }: ConversationRef): void {
    for (const tell of this.#listening.get(conversationKey(tenant, id)) ?? []) tell()
  }

  /** Wakes all callers, whatever they wait for. */
  tellAll(): void {
    for (const listeners of this.#listening.values()) for (const tell of listeners) tell()
  }

  /** The callers that wait now. */
  watchers(): Iterable<Watcher> {
    return this.#waiting
  }

  /** Listens from now on, so that no hint between a read and the wait after it is missed. */
  listen({ tenant, id }: ConversationRef, signal?: AbortSignal): Hints {
    const key = conversationKey(tenant, id)
    let isTold = false
    let wake = (): void => {}
    const tell = (): void => {
      isTold = true
      wake()
    }
    const listeners = this.#listening.get(key) ?? new Set()
    this.#listening.set(key, listeners.add(tell))
    const ignoreSignal = onAbort(signal, tell)
    return {
      next: async (known) => {
        this.#closed.throwIfAborted()
        signal?.throwIfAborted()
        const watcher = { tenant, id, ...known, look: tell }
        this.#waiting.add(watcher)
        if (!isTold) await new Promise<void>((resolve) => (wake = resolve))
        this.#waiting.delete(watcher)
        isTold = false
        this.#closed.throwIfAborted()
        signal?.throwIfAborted()
      },
      stop: () => {
        ignoreSignal()
        listeners.delete(tell)
        if (listeners.size === 0 && this.#listening.get(key) === listeners) this.#listening.delete(key)
      },
    }
  }
}

/** The channels of this process: one for each conversation that is worked on or watched here. */
export class Channels {
  readonly #store: Store
  readonly #workingSets: WorkingSets
  readonly #channels = new Map<string, { readonly tenant: string; readonly channel: Channel }>()

  readonly #relay: LiveRelay | null

  readonly clock: Clock

  /** `relay`: null where no other node has anything to do with what is live here. */
  constructor(store: Store, workingSets: WorkingSets, clock: Clock = systemClock, relay: LiveRelay | null = null) {
    this.clock = clock
    this.#relay = relay
    this.#store = store
    this.#workingSets = workingSets
  }

  of(tenant: string, id: string): Channel {
    const key = conversationKey(tenant, id)
    const known = this.#channels.get(key)?.channel
    if (known) return known
    const relay = this.#relay
    const relayOf = relay ? (relayed: Channel) => relay.relayOf(tenant, relayed) : undefined
    const channel = new Channel(id, (workingSet) => this.#read(tenant, id, workingSet), relayOf)
    this.#channels.set(key, { tenant, channel })
    return channel
  }

  peek(tenant: string, id: string): Channel | undefined {
    return this.#channels.get(conversationKey(tenant, id))?.channel
  }

  /** Forgets a channel that is not used. Called when a watcher leaves or an owner releases its log. */
  tidy(tenant: string, id: string): void {
    if (!this.peek(tenant, id)?.isUnused) return
    this.#channels.delete(conversationKey(tenant, id))
    this.#relay?.forget(tenant, id)
  }

  /** A channel that also carries live events of other nodes, if there is a bus. The returned function gives it up. */
  async joined(tenant: string, id: string, state: ConversationState): Promise<() => void> {
    if (!this.#relay || this.peek(tenant, id)?.isOwned || !isActivePhase(phaseOf(state))) return () => {}
    const channel = this.of(tenant, id)
    const ignore = (): void => {}
    const stop = channel.listen({ appended: ignore, live: ignore, replaced: ignore, failed: ignore })
    const known = await channel.refresh().catch(() => null)
    if (known) await channel.liveKnown()
    return () => {
      stop()
      this.tidy(tenant, id)
    }
  }

  /** The channels with listeners: hints may be lost, and no listener must wait for ever. */
  *watchers(): Iterable<Watcher> {
    for (const { tenant, channel } of this.#channels.values()) {
      const known = channel.watched()
      if (!known) continue
      // A channel that has advanced in the meantime is polled next time.
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
    if (lastSeq > 0 && !isSameLog({ seq: lastSeq, at: known.lastAt }, page))
      return { ...(await loadWhole(store, id, bound)), events: null }
    const events = lastSeq === 0 ? [...page.events] : [...page.events].slice(1)
    // A page has room for the event that is known and for any other. Where it has nothing new there is nothing, though a large event may make it say that more may follow.
    const grown = withEvents(known, events)
    // What is kept of a large log may lack the turns that were withdrawn, and then cannot tell what took their place.
    if (known.state.hasOlder && hasReplaced(grown.state, known.state))
      return { ...(await loadWhole(store, id, bound)), events: null }
    return { ...grown, events, hasMore: page.hasMore && events.length > 0 }
  }
}
