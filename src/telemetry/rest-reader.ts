import type { Rested } from '../engine/observer.ts'
import type { LogEvent } from '../log/events.ts'
import { sessionSpans } from './session-spans.ts'
import type { Spans } from './span-record.ts'
import { turnSpans } from './turn-spans.ts'

/** Of a longer turn or session, the newest so many events are read, and the one it began with. */
const mostEvents = 2_000
const mostRows = 1_000

/** How many logs are read at once, and how many wait for it. Beyond that, a turn has no spans: telemetry must not slow down what it watches. */
const atOnce = 4
const mostWaiting = 1_000

type Told = {
  readonly content: boolean
  readonly spans: (spans: Spans) => void
  readonly dropped: (error: unknown) => void
}

/** Reads the logs of turns and sessions that have come to rest, after the fact, a few at a time. */
export class RestReader {
  readonly #told: Told
  readonly #waiting: Rested[] = []
  readonly #reading = new Set<Promise<void>>()

  constructor(told: Told) {
    this.#told = told
  }

  add(rested: Rested): void {
    if (this.#waiting.length >= mostWaiting) return this.#told.dropped(new Error('too many logs wait to be read'))
    this.#waiting.push(rested)
    this.#next()
  }

  /** Resolves when everything that was added has been read. */
  async flush(): Promise<void> {
    while (this.#reading.size > 0) await Promise.all(this.#reading)
  }

  #next(): void {
    if (this.#reading.size >= atOnce) return
    const rested = this.#waiting.shift()
    if (!rested) return
    const reading = this.#read(rested).finally(() => {
      this.#reading.delete(reading)
      this.#next()
    })
    this.#reading.add(reading)
  }

  /** Does not reject. */
  async #read(rested: Rested): Promise<void> {
    try {
      this.#told.spans(await readSpans(rested, this.#told.content))
    } catch (error) {
      this.#told.dropped(error)
    }
  }
}

async function readSpans(rested: Rested, content: boolean): Promise<Spans> {
  const { ref, name, turnId, heldFrom } = rested
  const events = await eventsOf(rested)
  if (turnId === null) return sessionSpans({ ref, flow: name, events, heldFrom, content })
  // Its rows are in the order of their names, which begin with the id of the turn.
  const calls = await rested.store.modelCalls(ref.id, { from: `${turnId}/`, contexts: false, limit: mostRows })
  return turnSpans({ ref, agent: name, turnId, events, calls, heldFrom, content })
}

async function eventsOf({ ref, store, firstSeq, lastSeq }: Rested): Promise<LogEvent[]> {
  const after = Math.max(firstSeq - 1, lastSeq - mostEvents)
  const newest = await store.streamEvents(ref.id, { after, before: lastSeq + 1 })
  if (after < firstSeq) return newest
  return [...(await store.streamEvents(ref.id, { after: firstSeq - 1, before: firstSeq + 1 })), ...newest]
}
