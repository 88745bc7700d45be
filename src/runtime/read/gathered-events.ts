import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import { abridgeEvent } from '../../log/abridge.ts'
import type { LogEvent } from '../../log/events.ts'
import { knownPart } from '../../log/known-part.ts'
import { weightOf } from '../../log/weight.ts'
import type { EventPage } from '../../store/store.ts'

/** What an event takes, with what was left out of it. */
export function sizeOf({ content }: LogEvent): number {
  return weightOf(content) + ((content as { readonly leftOut?: number }).leftOut ?? 0)
}

/**
 * Events that are read for a page of about so many bytes. The newest that fit are whole; of the others it has the beginnings. Events are decoded in calls that do not
 * wait, so that no reader holds those of a whole page while it waits for the next: a page may take twenty times its bytes when it is decoded.
 */
export class GatheredEvents {
  readonly #maxBytes: number
  #events: LogEvent[] = []
  #sizes = 0
  #held = 0
  /** How many of the first have only their beginnings. */
  #abridged = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get events(): LogEvent[] {
    return this.#events
  }

  /** There is more than fits, whole. */
  get isFull(): boolean {
    return this.#sizes > this.#maxBytes
  }

  /** Adds what comes before. Where that has an event that is not known, what comes after it cannot be understood, and is let go of. */
  addBefore(page: EventPage): UnknownEvent | null {
    const { known, unknownEvent } = knownPart([...page.events])
    if (unknownEvent) this.keepOnly([])
    const added = known.toReversed().map((event) => {
      const size = sizeOf(event)
      this.#sizes += size
      const kept = this.#sizes > this.#maxBytes ? abridgeEvent(event) : event
      this.#held += kept === event ? size : weightOf(kept.content)
      if (kept !== event) this.#abridged += 1
      return kept
    })
    this.#events = [...added.reverse(), ...this.#events]
    return unknownEvent
  }

  /** Adds one that comes after the others. The oldest make room for it. */
  push(event: LogEvent): void {
    this.#events.push(event)
    const size = sizeOf(event)
    this.#sizes += size
    this.#held += weightOf(event.content)
    for (; this.#held > this.#maxBytes && this.#abridged < this.#events.length - 1; this.#abridged += 1) {
      const oldest = this.#events[this.#abridged]!
      const abridged = abridgeEvent(oldest)
      this.#events[this.#abridged] = abridged
      this.#held += weightOf(abridged.content) - weightOf(oldest.content)
    }
  }

  keepOnly(events: readonly LogEvent[]): void {
    this.#abridged = Math.max(0, this.#abridged - (this.#events.length - events.length))
    this.#events = [...events]
    this.#sizes = events.reduce((sum, event) => sum + sizeOf(event), 0)
    this.#held = events.reduce((sum, { content }) => sum + weightOf(content), 0)
  }
}
