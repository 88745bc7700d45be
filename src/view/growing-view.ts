import { EventUnknownError } from '../base/errors/log-errors.ts'
import type { LogEvent } from '../log/events.ts'
import type { ConversationState } from '../log/state.ts'
import { foldWithin, shownBytes } from '../log/trim-state.ts'
import { isKnownType } from '../log/validate-event.ts'
import { isDelta, type LiveParts, withLive, withoutSettled } from './live-parts.ts'
import type { LiveEvent, View } from './view.ts'
import { isSettled, viewOf } from './view-of.ts'

/**
 * A view that takes events one by one, and is worked out when it is asked for. Working it out costs as much as it shows: whoever takes many events at once asks
 * for it once. `seq` and `drafts` are always up to date.
 */
export class GrowingView {
  #view: View
  #log: ConversationState
  #live: LiveParts
  /** Events of the log that are not in `#log` yet. */
  #waiting: LogEvent[] = []
  /** More has changed than drafts. */
  #isStale = false

  constructor(view: View) {
    this.#view = view
    this.#log = view.log
    this.#live = view
  }

  /** The last event in it. */
  get seq(): number {
    return this.#log.lastSeq + this.#waiting.length
  }

  get drafts(): View['drafts'] {
    return this.#live.drafts
  }

  /** What the view is computed from. Costs less than the view. */
  get log(): ConversationState {
    if (this.#waiting.length > 0) {
      const events = this.#waiting
      this.#waiting = []
      this.#log = foldWithin(events, this.#log, 2 * shownBytes)
    }
    return this.#log
  }

  /** The same object as long as nothing changes. */
  get view(): View {
    if (this.#isStale) this.#view = viewOf(this.#view.conversationId, this.log, this.#live)
    else if (this.#live.drafts !== this.#view.drafts) this.#view = { ...this.#view, drafts: this.#live.drafts }
    this.#isStale = false
    this.#live = this.#view
    return this.#view
  }

  /** As `projectView`. Throws on an event of a type that is not known, and is then as it was before. */
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

/** What `watch` yields. */
export type WatchEvent = { readonly type: 'snapshot'; readonly view: View } | LogEvent | LiveEvent

/**
 * Applies one event to a view. Pure. A view that grows too large is trimmed to its newest messages: then `before` says where those before it are. An event that is in the view already changes nothing; neither does one past a gap (`view.seq` then stays
 * behind, and the reader should watch anew).
 */
export function projectView(view: View, event: WatchEvent): View {
  const growing = new GrowingView(view)
  growing.take(event)
  return growing.view
}
