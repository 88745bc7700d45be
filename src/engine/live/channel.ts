import { PerdureError } from '../../base/errors/perdure-error.ts'
import { callPhase } from '../../log/call-phase.ts'
import type { LogEvent } from '../../log/events.ts'
import { type ConversationPhase, phaseOf } from '../../log/fsm-state.ts'
import { type ConversationState, findCall } from '../../log/state.ts'
import { shownBytes, trimState } from '../../log/trim-state.ts'
import { yieldToEventLoop } from '../../store/log-pages.ts'
import { bounded, grown, type WorkingSet } from '../../store/working-sets.ts'
import { Announcer, isDelta, type LiveParts, nothingLive, withLive, withoutSettled } from '../../view/live-events.ts'
import type { LiveContent, LiveEvent, View } from '../../view/view.ts'
import { isSettled, viewOf } from '../../view/view-of.ts'
import type { ChannelRelay, LiveVoice } from './channel-relay.ts'

/** Must not throw. */
export type Listener = {
  /** Once for each commit, or for what was read at once: its events, each followed by what is live of it. The channel's state has all of them. */
  appended(told: readonly (LogEvent | LiveEvent)[]): void
  /** What is live beside the log, for readers that show it. */
  live?(event: LiveEvent): void
  /** The log is another one now: it was deleted, or deleted and begun anew. Everything published before is void. */
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
  /** The lease epoch of the newest known owner. Live events with a lower one are dropped. */
  #epoch = 0
  readonly #relay: ChannelRelay | null
  /** Followed only for a relay. */
  #phase: ConversationPhase = 'idle'
  /** Live events that belong after events of the log which the listeners have not received yet. */
  #early: LiveEvent[] = []
  #reading: Promise<ConversationState> | null = null
  #nextReading: Promise<ConversationState> | null = null
  #hintedSeq = 0
  #held: Promise<void> = Promise.resolve()

  constructor(conversationId: string, read: Reader, relayOf?: (channel: Channel) => ChannelRelay) {
    this.conversationId = conversationId
    this.#read = read
    this.#relay = relayOf?.(this) ?? null
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0 && this.#owners.size === 0
  }

  /** The state as far as it is known here. Null before the first `refresh`. */
  get state(): ConversationState | null {
    return this.#workingSet?.state ?? null
  }

  get isOwned(): boolean {
    return this.#owners.size > 0
  }

  /** Whether a listener here shows what is live. */
  get isShown(): boolean {
    for (const listener of this.#listeners) if (listener.live) return true
    return false
  }

  /** Whether a node may be writing, running tools or ending a turn now. */
  get isActive(): boolean {
    return this.#workingSet !== null && isActivePhase(this.#phase)
  }

  get live(): LiveParts {
    return this.#live
  }

  get epoch(): number {
    return this.#epoch
  }

  /** How far the newest owner here knows the log. */
  get ownedSeq(): number {
    return [...this.#owners].at(-1)?.().state.lastSeq ?? 0
  }

  /** Resolves when what is live at another node is known here, or does not come in time. Without a relay there is no other node. */
  async liveKnown(): Promise<void> {
    await this.#relay?.known()
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
    this.#relay?.changed()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) {
        this.#workingSet = null
        this.#early = []
        this.#hintedSeq = 0
      }
      this.#relay?.changed()
    }
  }

  /** An owner works here. A watcher that comes must find this channel, because the owner publishes to no other. */
  attach(owner: () => WorkingSet, epoch = this.#epoch): () => unknown {
    this.#owners.add(owner)
    this.adopt(epoch, owner().state.lastSeq)
    this.#relay?.attached()
    return () => {
      if (this.#owners.delete(owner)) this.#relay?.changed()
    }
  }

  voice(epoch: number): LiveVoice {
    return {
      emit: (content, seq) => this.emit(content, seq, epoch),
      withdraw: (seq) => this.withdraw(seq, epoch),
    }
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
    if (!this.#workingSet) this.#know(owned)
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
    // An owner in this process publishes before this runs, and then there is nothing to read.
    setImmediate(() => {
      if (this.#listeners.size === 0 || (this.state?.lastSeq ?? 0) >= seq) return
      this.refresh().catch((error) => this.#readFailed(error))
    })
  }

  /** The last seq that the listeners have received; null without listeners, or before the first `refresh`. */
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

  emit(content: LiveContent, seq: number, epoch = this.#epoch): void {
    if (!this.adopt(epoch, seq)) return
    const event: LiveEvent = { conversationId: this.conversationId, seq, ...content }
    this.#tell(event)
    this.#relay?.emitted(event, epoch)
  }

  /**
   * Takes live events of an owner at another node; the log must have reached their place. Events that the log has settled since are dropped. False: a later
   * owner is known.
   */
  receive(content: LiveContent, seq: number, epoch: number): boolean {
    const { state } = this
    if (!state || !this.adopt(epoch, seq)) return false
    if (isOver(content, state, this.isActive)) return true
    this.#tell({ conversationId: this.conversationId, seq, ...content })
    return true
  }

  /** The owner is gone: what it had not committed is withdrawn. */
  withdraw(seq: number, epoch = this.#epoch): void {
    if (epoch < this.#epoch) return
    for (const { turnId, messageId } of this.#live.drafts)
      this.emit({ type: 'message_discarded', turnId, messageId }, seq, epoch)
    this.#live = nothingLive
    this.#early = this.#early.filter(({ type }) => type === 'message_discarded')
  }

  /** Registers the epoch of an owner: the uncommitted text of earlier owners is withdrawn. False: a later epoch is known. */
  adopt(epoch: number, seq: number): boolean {
    if (epoch < this.#epoch) return false
    if (epoch > this.#epoch) {
      const { conversationId } = this
      this.#epoch = epoch
      this.#early = []
      for (const { turnId, messageId } of this.#live.drafts)
        this.#tell({ conversationId, seq, type: 'message_discarded', turnId, messageId })
      this.#live = nothingLive
      this.#early = this.#early.filter(({ type }) => type === 'message_discarded')
    }
    return true
  }

  #tell(event: LiveEvent): void {
    this.#live = withLive(this.#live, event)
    if (this.#listeners.size === 0) return
    this.#early.push(event)
    for (const due of this.#dueUpTo(this.state?.lastSeq ?? Number.POSITIVE_INFINITY))
      for (const listener of this.#listeners) listener.live?.(due)
  }

  /**
   * What will not be committed: the drafts of a turn that another process has ended before the writer here knew it, and those that another message of their turn has
   * overtaken, because one owner writes one message at a time.
   */
  #withdrawn(event: LogEvent, seq: number): LiveEvent[] {
    if (this.#live.drafts.length === 0 || (event.type !== 'turn_ended' && event.type !== 'assistant_msg')) return []
    const { turnId } = event.content
    const committed = event.type === 'assistant_msg' ? event.content.messageId : null
    const early = new Set(this.#early.flatMap((later) => (isDelta(later) ? [later.messageId] : [])))
    const drafts = this.#live.drafts.filter(
      (draft) => draft.turnId === turnId && draft.messageId !== committed && !(committed && early.has(draft.messageId)),
    )
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
    if (!this.#workingSet) {
      this.#know(loaded)
      this.#workingSet = loaded
      this.#relay?.changed()
    } else if (events) this.#apply(this.#workingSet, events)
    else this.#replace(loaded)
    return { state: loaded.state, hasMore }
  }

  #replace(workingSet: WorkingSet): void {
    this.#know(workingSet)
    this.#workingSet = workingSet
    this.#live = nothingLive
    this.#early = []
    this.#hintedSeq = 0
    for (const listener of this.#listeners) listener.replaced(this.view())
    this.#relay?.changed()
  }

  /** Events that are known already, or come after a gap, are left out. */
  #apply(known: WorkingSet, events: readonly LogEvent[]): void {
    const announcer = new Announcer(known.state)
    const told: (LogEvent | LiveEvent)[] = []
    let { lastAt } = known
    let failure: { readonly error: unknown } | null = null
    for (const event of events) {
      if (event.seq !== announcer.lastSeq + 1) continue
      const withdrawn = this.#withdrawn(event, announcer.lastSeq)
      try {
        const { shown, live } = announcer.next(event)
        told.push(...withdrawn, shown, ...live)
        for (const gone of withdrawn) this.#live = withLive(this.#live, gone)
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
      this.#phase = announcer.phase
      this.#workingSet = bounded(grown(known, events, announcer.state(), lastAt))
      for (const listener of this.#listeners) listener.appended(told)
    }
    if (told.length > 0) this.#relay?.changed()
    if (failure) this.#fail(failure.error)
  }

  /** The log is known up to here, without having been published. */
  #know({ state }: WorkingSet): void {
    if (this.#relay) this.#phase = phaseOf(state)
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
    this.#relay?.changed()
  }
}

/** Whether an owner may have something to say beside the log. */
export function isActivePhase(phase: ConversationPhase): boolean {
  return phase === 'running' || phase === 'terminating'
}

/** Whether the log has settled what a live event is about. */
function isOver(content: LiveContent, state: ConversationState, isActive: boolean): boolean {
  if (isDelta(content)) return isSettled(state, content)
  if (content.type === 'tool_progress') {
    const found = findCall(state, content.callId)
    return !found || callPhase(found.call).type !== 'started'
  }
  return content.type === 'phase_changed' && !isActive
}
