import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { LogEvent } from '../../log/events.ts'
import type { ConversationState } from '../../log/state.ts'
import { shownBytes, trimState } from '../../log/trim-state.ts'
import { yieldToEventLoop } from '../../store/log-pages.ts'
import { bounded, grown, type WorkingSet } from '../../store/working-sets.ts'
import { Announcer, nothingLive, withLive, withoutSettled } from '../../view/live-events.ts'
import type { LiveContent, LiveEvent, View } from '../../view/view.ts'
import { viewOf } from '../../view/view-of.ts'

/** Must not throw. */
export type Listener = {
  /** Once for each commit, or for what was read at once: its events, each followed by what is live of it. The channel's state has all of them. */
  appended(told: readonly (LogEvent | LiveEvent)[]): void
  /** What is live beside the log, for readers that show it. */
  live?(event: LiveEvent): void
  /** The log is another one now: it was deleted, or deleted and begun anew. What was told before is void. */
  replaced(view: View): void
  failed(error: unknown): void
}

/** What a log has after what was known of it: as much as is read at once. `events` is null where it is another one, or nothing was known. */
export type Reading = WorkingSet & { readonly events: readonly LogEvent[] | null; readonly hasMore?: boolean }

type Reader = (known: WorkingSet | null) => Promise<Reading>

/**
 * One conversation as its readers in this process see it: the folded log, what is live beside it, and everyone who watches. Events reach it
 * from the owner when it runs here, and otherwise by reading the store after a hint; each listener gets each event once, in order.
 */
export class Channel {
  readonly conversationId: string
  readonly #read: Reader
  readonly #listeners = new Set<Listener>()
  /** Several: an owner that has lost the conversation may still be here when the next one comes. */
  readonly #owners = new Set<() => WorkingSet>()
  #workingSet: WorkingSet | null = null
  #live = nothingLive
  /** Live events that belong after events of the log which the listeners have not received yet. */
  #early: LiveEvent[] = []
  #reading: Promise<ConversationState> | null = null
  #nextReading: Promise<ConversationState> | null = null
  #hintedSeq = 0
  #held: Promise<void> = Promise.resolve()

  constructor(conversationId: string, read: Reader) {
    this.conversationId = conversationId
    this.#read = read
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0 && this.#owners.size === 0
  }

  /** The state as far as it is known here. Null before the first `refresh`. */
  get state(): ConversationState | null {
    return this.#workingSet?.state ?? null
  }

  view(): View {
    if (!this.#workingSet) throw new Error('a channel has no view before it was refreshed')
    return this.viewOf(this.#workingSet.state)
  }

  /** A state read elsewhere, with what is live here. */
  viewOf(state: ConversationState, maxBytes: number = shownBytes): View {
    return viewOf(this.conversationId, trimState(state, maxBytes), this.#live)
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#workingSet = null
      this.#early = []
      this.#hintedSeq = 0
    }
  }

  /** An owner works here. A watcher that comes must find this channel, because the owner publishes to no other. */
  attach(owner: () => WorkingSet): () => unknown {
    this.#owners.add(owner)
    return () => this.#owners.delete(owner)
  }

  /**
   * Begins with what the owner here knows, instead of reading, where that is enough: whatever comes next it publishes here. False when it
   * has to be read.
   */
  beginAt(seq: number): boolean {
    const owned = [...this.#owners].at(-1)?.()
    if (!owned || owned.state.lastSeq < seq) return false
    // Another listener has begun to read, and will begin with that.
    if (!this.#workingSet && this.#reading !== null) return false
    this.#workingSet ??= owned
    return this.#workingSet.origin === owned.origin && this.#workingSet.state.lastSeq >= seq
  }

  /** Holds back what is in the store until the returned function is called. The owner publishes what it committed before that. */
  hold(): () => void {
    const held = Promise.withResolvers<void>()
    const before = this.#held
    this.#held = before.then(() => held.promise)
    return held.resolve
  }

  /** Reads what the store has by now and this channel does not. A reading that began before would miss what was written since. */
  refresh(): Promise<ConversationState> {
    if (this.#nextReading !== null) return this.#nextReading
    if (this.#reading === null) return this.#startReading()
    const next = (): Promise<ConversationState> => {
      this.#nextReading = null
      return this.#startReading()
    }
    this.#nextReading = this.#reading.then(next, next)
    return this.#nextReading
  }

  /** The log has grown, by a commit of this process or of another. */
  hint(seq: number): void {
    if (this.#listeners.size === 0 || seq <= Math.max(this.#hintedSeq, this.state?.lastSeq ?? 0)) return
    this.#hintedSeq = seq
    // The owner, when it is here, publishes before this runs, and then there is nothing to read.
    setImmediate(() => {
      if (this.#listeners.size === 0 || (this.state?.lastSeq ?? 0) >= seq) return
      this.refresh().catch((error) => this.#readFailed(error))
    })
  }

  /** How far the listeners have been told of the log; null without listeners, or before the first `refresh`. */
  watched(): { readonly seq: number; readonly at: number | null } | null {
    if (this.#listeners.size === 0 || !this.#workingSet) return null
    const { state, lastAt } = this.#workingSet
    return { seq: state.lastSeq, at: state.lastSeq === 0 ? null : lastAt }
  }

  /** Looks at the store in case a hint was lost. Never rejects. */
  async poll(): Promise<void> {
    if (this.#listeners.size > 0) await this.refresh().catch((error) => this.#readFailed(error))
  }

  /** The owner's commit, durable already. */
  publish(events: readonly LogEvent[]): void {
    if (this.#workingSet) this.#apply(this.#workingSet, events)
    else for (const event of events) this.#live = withoutSettled(this.#live, event)
  }

  emit(content: LiveContent, seq: number): void {
    const event: LiveEvent = { conversationId: this.conversationId, seq, ...content }
    this.#live = withLive(this.#live, event)
    if (this.#listeners.size === 0) return
    this.#early.push(event)
    for (const due of this.#dueUpTo(this.state?.lastSeq ?? Number.POSITIVE_INFINITY))
      for (const listener of this.#listeners) listener.live?.(due)
  }

  /** The owner is gone: what it had not committed is withdrawn. */
  withdraw(seq: number): void {
    for (const { turnId, messageId } of this.#live.drafts)
      this.emit({ type: 'message_discarded', turnId, messageId }, seq)
    this.#live = nothingLive
    this.#early = this.#early.filter(({ type }) => type === 'message_discarded')
  }

  /** Of a turn that another process has ended before the writer here knew it: what it has written will not be committed. */
  #withdrawn(turnId: string, seq: number): LiveEvent[] {
    const drafts = this.#live.drafts.filter((draft) => draft.turnId === turnId)
    const { conversationId } = this
    return drafts.map(({ messageId }) => ({ conversationId, seq, type: 'message_discarded', turnId, messageId }))
  }

  /** Takes the live events whose place in the log has been reached. Earlier they would mean nothing to the listeners. */
  #dueUpTo(known: number): LiveEvent[] {
    if (this.#early.length === 0) return []
    const isLater = this.#early.findIndex(({ seq }) => seq > known)
    const due = this.#early.splice(0, isLater < 0 ? this.#early.length : isLater)
    for (const event of due) this.#live = withLive(this.#live, event)
    return due
  }

  #startReading(): Promise<ConversationState> {
    this.#reading = this.#readOn().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #readOn(): Promise<ConversationState> {
    for (;;) {
      const { state, hasMore } = await this.#readPage()
      if (!hasMore) return state
      await yieldToEventLoop()
    }
  }

  /** A method of its own, so that the events of a page are not held while other work has its turn. */
  async #readPage(): Promise<{ readonly state: ConversationState; readonly hasMore: boolean }> {
    const { events, hasMore = false, ...loaded } = await this.#read(this.#workingSet)
    await this.#held
    if (!this.#workingSet) this.#workingSet = loaded
    else if (events) this.#apply(this.#workingSet, events)
    else this.#replace(loaded)
    return { state: loaded.state, hasMore }
  }

  #replace(workingSet: WorkingSet): void {
    this.#workingSet = workingSet
    this.#live = nothingLive
    this.#early = []
    this.#hintedSeq = 0
    for (const listener of this.#listeners) listener.replaced(this.view())
  }

  /** Events that are known already, or come after a gap, are left out. */
  #apply(known: WorkingSet, events: readonly LogEvent[]): void {
    const announcer = new Announcer(known.state)
    const told: (LogEvent | LiveEvent)[] = []
    let { lastAt } = known
    let failure: { readonly error: unknown } | null = null
    for (const event of events) {
      if (event.seq !== announcer.lastSeq + 1) continue
      const withdrawn = event.type === 'turn_ended' ? this.#withdrawn(event.content.turnId, announcer.lastSeq) : []
      try {
        const { shown, live } = announcer.next(event)
        told.push(...withdrawn, shown, ...live)
        this.#live = withoutSettled(this.#live, event)
        for (const announced of live) this.#live = withLive(this.#live, announced)
      } catch (error) {
        failure = { error }
        break
      }
      lastAt = event.at
      told.push(...this.#dueUpTo(event.seq))
    }
    if (told.length > 0) {
      this.#workingSet = bounded(grown(known, events, announcer.state(), lastAt))
      for (const listener of this.#listeners) listener.appended(told)
    }
    if (failure) this.#fail(failure.error)
  }

  /** A store that is away for a moment is asked again at the next poll. */
  #readFailed(error: unknown): void {
    if (!PerdureError.isInstance(error) || !error.retryable) this.#fail(error)
  }

  #fail(error: unknown): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    this.#workingSet = null
    this.#early = []
    for (const listener of listeners) listener.failed(error)
  }
}
