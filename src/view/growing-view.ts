import { EventUnknownError } from '../base/errors/log-errors.ts'
import type { LogEvent } from '../log/events.ts'
import type { ConversationState } from '../log/state.ts'
import { foldWithin, shownBytes } from '../log/trim-state.ts'
import { isKnownType } from '../log/validate-event.ts'
import { isDelta, type LiveParts, withLive, withoutSettled } from './live-events.ts'
import type { LiveEvent, View } from './view.ts'
import { isSettled, viewOf } from './view-of.ts'

/**
 * A view that takes events one at a time and is computed when read. Computing it costs as much as it shows, so apply a batch of events first and read `view`
 * once. `seq` and `drafts` are always up to date.
 */
export class GrowingView {
  #view: View
  #log: ConversationState
  #live: LiveParts
  /** Log events that are not in `#log` yet. */
  #waiting: LogEvent[] = []
  /** Whether more than drafts has changed. */
  #isStale = false

  constructor(view: View) {
    this.#view = view
    this.#log = view.log
    this.#live = view
  }

  /** The last event in the view. */
  get seq(): number {
    return this.#log.lastSeq + this.#waiting.length
  }

  get drafts(): View['drafts'] {
    return this.#live.drafts
  }

  /** The state that the view is computed from. Cheaper to read than `view`. */
  get log(): ConversationState {
    if (this.#waiting.length > 0) {
      const events = this.#waiting
      this.#waiting = []
      this.#log = foldWithin(events, this.#log, 2 * shownBytes)
    }
    return this.#log
  }

  /** The same object until something changes. */
  get view(): View {
    if (this.#isStale) this.#view = viewOf(this.#view.conversationId, this.log, this.#live)
    else if (this.#live.drafts !== this.#view.drafts) this.#view = { ...this.#view, drafts: this.#live.drafts }
    this.#isStale = false
    this.#live = this.#view
    return this.#view
  }

  /** Applies one event, as `projectView` does. Throws on an event of an unknown type and is then unchanged. */
  take(event: WatchEvent): void {
    if (event.type === 'snapshot') this.#begin(event.view)
    else if ('content' in event) this.#append(event)
    else this.#show(event)
  }

  #begin(view: View): void {
    this.#view = view
    this.#log = view.log
    this.#live = view
    this.#waiting = []
    this.#isStale = false
  }

  #append(event: LogEvent): void {
    if (event.seq !== this.seq + 1) return
    if (!isKnownType(event.type)) throw new EventUnknownError(event)
    this.#waiting.push(event)
    this.#live = withoutSettled(this.#live, event)
    this.#isStale = true
  }

  #show(event: LiveEvent): void {
    const live = withLive(this.#live, event)
    if (live === this.#live) return
    if (!isDelta(event)) this.#isStale = true
    else if (isSettled(this.log, event)) return
    this.#live = live
  }
}

/**
 * Applies events of the log to a view, such as the checkpoint that `view({ at })` gives. Pure, and computed once, however many events there are. Events that are
 * in the view already change nothing; nor do events after a gap.
 */
export function foldView(checkpoint: View, events: Iterable<LogEvent>): View {
  const growing = new GrowingView(checkpoint)
  for (const event of events) growing.take(event)
  return growing.view
}

/** What `watch` yields. */
export type WatchEvent = { readonly type: 'snapshot'; readonly view: View } | LogEvent | LiveEvent

/**
 * Applies one event to a view. Pure. A view that grows too large is trimmed to its newest messages; `before` then says where the older ones are. An event that
 * is already in the view changes nothing. Neither does an event past a gap: `view.seq` stays behind, and the reader should start a new watch.
 */
export function projectView(view: View, event: WatchEvent): View {
  const growing = new GrowingView(view)
  growing.take(event)
  return growing.view
}
