import { onAbort } from '../../base/abort.ts'
import type { ChangesFor } from '../../runtime/read/tenant-changes.ts'
import { heartbeat } from './frame.ts'
import type { Subscription } from './subscription.ts'
import { type FeedEntry, type FeedPlace, feedFrame, type TenantFeed } from './tenant-feed.ts'

/** The clocks of a server and its store may be that far apart. */
const overlapMs = 60_000
const mostMissed = 2_000
const rowsAtOnce = 20

/** A conversation whose events come along; `events` is null when the caller may not see it. */
export type WatchedLog = { readonly id: string; readonly events: Subscription | null }

type Stream = {
  readonly feed: TenantFeed
  readonly caller: ChangesFor
  readonly watched: readonly WatchedLog[]
  readonly heartbeatMs: number
  readonly signal: AbortSignal
}

/**
 * What one client is sent. Frames are made as it takes them, so that a client that does not read holds only its place, and the bounded queues of the conversations
 * that it watches.
 */
export async function* tenantFrames(stream: Stream, after: FeedPlace | null): AsyncGenerator<Uint8Array, void, void> {
  const { feed, watched, heartbeatMs, signal } = stream
  const bell = new Bell()
  const leave = feed.join(() => bell.ring())
  const stopListening = onAbort(signal, () => bell.ring())
  try {
    let index = feed.lastIndex
    const isKept = after?.feed === feed.name && feed.after(after.index) !== null
    if (isKept) index = after.index
    else yield* missed(stream, after, index)
    const open = watched.flatMap(({ id, events }) => (events ? [new Pump(id, events, bell)] : []))
    for (const { id, events } of watched) if (!events) yield unwatched(feed, id, index)
    for (let isQuiet = false; !signal.aborted && !feed.isClosed; ) {
      if (isQuiet) yield heartbeat
      const entries = feed.after(index)
      index = feed.lastIndex
      if (entries) yield* visible(stream, entries)
      else yield feedFrame({ type: 'reset' }, { at: Date.now(), feed: feed.name, index })
      for (const pump of open) {
        const chunk = pump.take()
        if (chunk) yield* chunk
        // A client that reads too slowly is disconnected, as from the stream of one conversation.
        if (pump.wasDropped) return
        if (pump.hasEnded) {
          open.splice(open.indexOf(pump), 1)
          yield unwatched(feed, pump.id, index)
          break
        }
      }
      if (feed.lastIndex === index && !open.some((pump) => pump.isReady)) isQuiet = !(await bell.rung(heartbeatMs))
    }
  } finally {
    leave()
    stopListening()
    for (const { events } of watched) events?.close()
  }
}

/** What changed while the client was away, or that it must begin anew. */
async function* missed(stream: Stream, after: FeedPlace | null, index: number): AsyncGenerator<Uint8Array, void, void> {
  const { feed, caller } = stream
  // What was deleted cannot be judged any more, so a caller who does not see everything always begins anew.
  const since = Math.max(0, (after?.at ?? 0) - overlapMs)
  const ids = after && (await caller.seesAll()) ? await caller.changes.since(since, mostMissed) : null
  if (!ids) return yield feedFrame({ type: 'reset' }, { at: Date.now(), feed: feed.name, index })
  for (let from = 0; from < ids.length; from += rowsAtOnce) {
    // Made at once: a client that does not read holds frames, and no rows.
    yield* await feed.read(ids.slice(from, from + rowsAtOnce), index, async (entries) => {
      const frames: Uint8Array[] = []
      for await (const frame of visible(stream, entries)) frames.push(frame)
      return frames
    })
  }
}

async function* visible({ caller }: Stream, entries: readonly FeedEntry[]): AsyncGenerator<Uint8Array, void, void> {
  for (const { row, was, frame, bareFrame } of entries) {
    const record = row?.record ?? was
    if (!(record ? await caller.allows(record) : await caller.seesAll())) continue
    yield row && !(await caller.reads(row.record)) ? bareFrame() : frame
  }
}

function unwatched(feed: TenantFeed, conversationId: string, index: number): Uint8Array {
  return feedFrame({ type: 'unwatched', conversationId }, { at: Date.now(), feed: feed.name, index })
}

/** Wakes the stream. A ring that comes while no one waits is kept. */
class Bell {
  #isRung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** False when it did not ring for so long. */
  async rung(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    if (!this.#isRung)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        timer = setTimeout(resolve, ms)
      })
    clearTimeout(timer)
    this.#wake = null
    const wasRung = this.#isRung
    this.#isRung = false
    return wasRung
  }
}

/** Takes the frames of one conversation, one write at a time. */
class Pump {
  readonly id: string
  readonly #events: Subscription
  readonly #bell: Bell
  #chunk: Uint8Array | null = null
  hasEnded = false
  wasDropped = false

  constructor(id: string, events: Subscription, bell: Bell) {
    this.id = id
    this.#events = events
    this.#bell = bell
    events.onDrop = () => {
      this.wasDropped = true
      bell.ring()
    }
    void this.#read()
  }

  get isReady(): boolean {
    return this.#chunk !== null || this.wasDropped
  }

  take(): Uint8Array[] | null {
    const chunk = this.#chunk
    if (!chunk) return null
    this.#chunk = null
    void this.#read()
    return wrapped(this.id, chunk)
  }

  async #read(): Promise<void> {
    try {
      this.#chunk = await this.#events.read()
      this.hasEnded = this.#chunk === null
    } catch {
      // The log cannot be read any more. The feed has logged why, and the next connection says so.
      this.hasEnded = true
    }
    this.#bell.ring()
  }
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** The frames of a conversation's own stream, each inside a frame that names it. Data has no line breaks, so an empty line ends a frame. */
function wrapped(conversationId: string, chunk: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = []
  for (const frame of decoder.decode(chunk).split('\n\n')) {
    const match = /^id: ([^\n]*)\ndata: (.*)$/s.exec(frame)
    if (!match) continue
    const named = JSON.stringify({ type: 'watched', conversationId, id: match[1] }).slice(0, -1)
    frames.push(encoder.encode(`data: ${named},"event":${match[2]}}\n\n`))
  }
  return frames
}
