import type { LogEvent } from '../log/events.ts'
import type { ConversationState } from '../log/state.ts'
import { announce } from '../view/announce.ts'
import { appendDelta } from '../view/drafts.ts'
import type { LiveContent, LiveEvent } from '../view/live-event.ts'
import { isActivity } from '../view/project-view.ts'
import type { View } from '../view/view.ts'
import { viewOf } from '../view/view-of.ts'
import type { WorkingSet } from './working-sets.ts'

export type Listener = {
  /** Must not throw. */
  next(event: LogEvent | LiveEvent): void
  failed(error: unknown): void
}

type Reader = (known: WorkingSet | null) => Promise<WorkingSet & { readonly events: readonly LogEvent[] | null }>

/**
 * One conversation as its readers in this process see it: the folded log, what is live beside it, and everyone who watches. Events reach it
 * from the owner when it runs here, and otherwise by reading the store after a hint; each listener gets each event once, in order.
 */
export class Channel {
  readonly conversationId: string
  readonly #read: Reader
  readonly #listeners = new Set<Listener>()
  #workingSet: WorkingSet | null = null
  #live: Pick<View, 'activity' | 'drafts' | 'progress'> = { activity: null, drafts: [], progress: {} }
  #refreshing: Promise<ConversationState> | null = null
  #hintedSeq = 0

  constructor(conversationId: string, read: Reader) {
    this.conversationId = conversationId
    this.#read = read
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0 && this.#live.drafts.length === 0
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
  viewOf(state: ConversationState): View {
    return viewOf(this.conversationId, state, this.#live)
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#workingSet = null
    }
  }

  /** Reads what the store has and this channel does not. */
  refresh(): Promise<ConversationState> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  /** Somebody appended, here or elsewhere. */
  hint(seq: number): void {
    if (this.#listeners.size === 0 || seq <= Math.max(this.#hintedSeq, this.state?.lastSeq ?? 0)) return
    this.#hintedSeq = seq
    // The owner, when it is here, publishes before this runs, and then there is nothing to read.
    setImmediate(() => {
      if (this.#listeners.size === 0 || (this.state?.lastSeq ?? 0) >= seq) return
      this.refresh().catch((error) => this.#fail(error))
    })
  }

  /** Looks at the store in case a hint was lost. */
  poll(): void {
    if (this.#listeners.size > 0) this.refresh().catch((error) => this.#fail(error))
  }

  /** The owner's commit, durable already. */
  publish(events: readonly LogEvent[]): void {
    if (!this.#workingSet) {
      this.#forgetDrafts(events)
      return
    }
    for (const event of events) this.#apply(event)
  }

  emit(content: LiveContent, seq: number): void {
    const event: LiveEvent = { conversationId: this.conversationId, seq, ...content }
    this.#keep(event)
    for (const listener of this.#listeners) listener.next(event)
  }

  /** The owner is gone: what it had not committed is withdrawn. */
  withdraw(seq: number): void {
    for (const { turnId, messageId } of this.#live.drafts)
      this.emit({ type: 'message_discarded', turnId, messageId }, seq)
    this.#live = { activity: null, drafts: [], progress: {} }
  }

  async #refresh(): Promise<ConversationState> {
    const before = this.#workingSet
    const { events, ...loaded } = await this.#read(before)
    // Null events: there was nothing to go on from, or the log was replaced.
    if (events === null || !this.#workingSet) this.#workingSet = loaded
    else for (const event of events) this.#apply(event)
    return this.#workingSet.state
  }

  #apply(event: LogEvent): void {
    const known = this.#workingSet
    if (!known || event.seq !== known.state.lastSeq + 1) return
    let announced: ReturnType<typeof announce>
    try {
      announced = announce(known.state, event)
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#workingSet = { state: announced.state, lastAt: event.at }
    this.#forgetDrafts([event])
    for (const listener of this.#listeners) {
      listener.next(event)
      for (const live of announced.live) listener.next(live)
    }
  }

  #keep(event: LiveEvent): void {
    switch (event.type) {
      case 'text_delta':
      case 'reasoning_delta':
      case 'tool_input_delta':
        this.#live = { ...this.#live, drafts: appendDelta(this.#live.drafts, event) }
        return
      case 'message_discarded':
        this.#live = { ...this.#live, drafts: this.#live.drafts.filter((draft) => draft.messageId !== event.messageId) }
        return
      case 'tool_progress':
        this.#live = { ...this.#live, progress: { ...this.#live.progress, [event.callId]: event.payload } }
        return
      case 'state_changed':
        this.#live = { ...this.#live, activity: isActivity(event.state) ? event.state : null }
        return
      default: // The log has what the others tell.
    }
  }

  #forgetDrafts(events: readonly LogEvent[]): void {
    for (const event of events) {
      if (event.type === 'assistant_msg') {
        const { messageId } = event.content
        this.#live = { ...this.#live, drafts: this.#live.drafts.filter((draft) => draft.messageId !== messageId) }
      }
      if (event.type === 'tool_result') {
        const { [event.content.callId]: _, ...progress } = this.#live.progress
        this.#live = { ...this.#live, progress }
      }
      if (event.type === 'turn_ended') {
        const drafts = this.#live.drafts.filter((draft) => draft.turnId !== event.content.turnId)
        this.#live = { ...this.#live, activity: null, drafts }
      }
    }
  }

  #fail(error: unknown): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    this.#workingSet = null
    for (const listener of listeners) listener.failed(error)
  }
}
