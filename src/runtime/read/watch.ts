import { onAbort } from '../../base/abort.ts'
import { EventUnknownError } from '../../base/errors/log-errors.ts'
import { checkSignal, readOptions } from '../../base/errors/read-options.ts'
import { WatcherLaggedError } from '../../base/errors/runtime-errors.ts'
import type { KeepAlive } from '../../engine/background-tasks.ts'
import type { Channel } from '../../engine/live/channel.ts'
import { ChildTree } from '../../engine/live/child-tree.ts'
import type { Channels } from '../../engine/live/log-poll.ts'
import { outcomeOf } from '../../engine/live/turn-outcome.ts'
import { weightOf } from '../../log/abridge.ts'
import { type ConversationState, findTurn } from '../../log/state.ts'
import { shownBytes, stateWeight, trimState } from '../../log/trim-state.ts'
import { checkWhole } from '../../store/checks.ts'
import { isStillThere, pagesAfter } from '../../store/log-pages.ts'
import type { TenantStore } from '../../store/store.ts'
import { loadReadable } from '../../store/working-sets.ts'
import { GrowingView, type WatchEvent } from '../../view/growing-view.ts'
import { isTextDelta } from '../../view/live-events.ts'
import type { Children, LiveEvent, View } from '../../view/view.ts'
import { viewOf, withChildren } from '../../view/view-of.ts'
import { shownPages } from './turn-events.ts'

/** Where watching begins and when it ends. */
export type WatchOptions = {
  /** Go on from here: first the events after it, then what is live. Without it, a snapshot first. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** How many events may wait for a slow reader before it is dropped. Default: 10,000. */
  readonly maxBuffered?: number
  /** How many bytes of them, about. Default: 16 MiB. */
  readonly maxBufferedBytes?: number
}

type Watched = {
  readonly tenant: string
  readonly id: string
  readonly store: TenantStore
  readonly channels: Channels
  readonly keepAlive: KeepAlive
  readonly closed: AbortSignal
}

/**
 * Snapshot and tail, without gap or repeat. A log that a later version has written to is followed up to that event, then `EventUnknownError`. Ends when the signal or the runtime says so. A reader that is too slow is dropped with
 * `WatcherLaggedError`, which says where to continue.
 */
export async function* watch(watched: Watched, given?: WatchOptions): AsyncGenerator<WatchEvent, void, void> {
  for await (const { event } of watchWithMore(watched, given)) yield event
}

type WithMore = {
  readonly event: WatchEvent
  /** The next one is here already. */
  readonly hasMore: boolean
}

/** As `watch`, for readers that do their work once for all events that are there. */
async function* watchWithMore(watched: Watched, given?: WatchOptions): AsyncGenerator<WithMore, void, void> {
  const options = readWatchOptions(given)
  const { tenant, id, store, channels, keepAlive, closed } = watched
  const { after, maxBuffered = 10_000, maxBufferedBytes = 16 * 1024 * 1024 } = options
  const signal = options.signal ? AbortSignal.any([options.signal, closed]) : closed
  const letProcessEnd = keepAlive.hold()
  const channel = channels.of(tenant, id)
  const buffer = new Buffer(id, { events: maxBuffered, bytes: maxBufferedBytes }, after ?? 0)
  const stopListening = channel.listen(buffer)
  const children = new WatchedChildren(channel, channels, tenant, (event) => buffer.next(event))
  const ignoreSignal = onAbort(signal, () => buffer.end())
  try {
    if (signal.aborted) return
    try {
      const state = await channel.refresh()
      // Without the text that another node is writing, it would vanish for a reader who comes from there.
      await channel.liveKnown()
      await children.read(channel.state ?? state)
      // An event that ends the watch may have been read by now. The channel has no view then.
      buffer.throwIfFailed()
    } catch (error) {
      // Nothing can be followed past such an event, but what is before it can be shown.
      if (error instanceof EventUnknownError && after === undefined)
        yield { event: await readableSnapshot(store, id), hasMore: false }
      throw error
    }
    // From here to the next await, no event can slip between the view and the buffer after it.
    const view = children.begin(channel.view())
    buffer.startAt(view.seq)
    if (after === undefined) yield { event: { type: 'snapshot', view }, hasMore: false }
    else {
      const end = { seq: view.seq, at: channel.watched()?.at ?? null }
      const missed = pagesAfter(store, id, { after, before: view.seq + 1 })
      let isFirst = true
      for await (const { events } of shownPages(store, id, missed)) {
        // The reader is slow. A new log under the id of a deleted one is followed from its own beginning.
        if (!isFirst && end.at !== null && !(await isStillThere(store, id, { seq: end.seq, at: end.at }))) break
        isFirst = false
        for (const event of events) yield { event, hasMore: false }
      }
      if (view.drafts.length > 0 || view.children.pending.length > 0)
        yield { event: { type: 'snapshot', view }, hasMore: false }
    }
    yield* buffer.drain()
  } finally {
    ignoreSignal()
    stopListening()
    children.stop()
    channels.tidy(tenant, id)
    letProcessEnd()
  }
}

async function readableSnapshot(store: TenantStore, id: string): Promise<WatchEvent> {
  const { state, unknownEvent } = await loadReadable(store, id)
  return {
    type: 'snapshot',
    view: { ...viewOf(id, trimState(state, shownBytes)), ...(unknownEvent ? { unknownEvent } : {}) },
  }
}

function readWatchOptions(given: WatchOptions | undefined): WatchOptions {
  const options = readOptions('options', given, ['after', 'signal', 'maxBuffered', 'maxBufferedBytes'])
  if (options.after !== undefined) checkWhole('after', options.after, 0)
  if (options.signal !== undefined) checkSignal('signal', options.signal)
  if (options.maxBuffered !== undefined) checkWhole('maxBuffered', options.maxBuffered, 1)
  if (options.maxBufferedBytes !== undefined) checkWhole('maxBufferedBytes', options.maxBufferedBytes, 1)
  return options
}

/** Holds what a reader has not taken yet. */
class Buffer {
  readonly #id: string
  readonly #most: { readonly events: number; readonly bytes: number }
  #events: WatchEvent[] = []
  /** How many of the first were taken. */
  #taken = 0
  #bytes = 0
  #wake: (() => void) | null = null
  #isEnded = false
  #hasLagged = false
  #error: unknown = null
  #lastSeq: number

  constructor(id: string, most: { readonly events: number; readonly bytes: number }, lastSeq: number) {
    this.#id = id
    this.#most = most
    this.#lastSeq = lastSeq
  }

  /** What was buffered up to now is in the view. */
  startAt(seq: number): void {
    this.#clear()
    this.#lastSeq = seq
  }

  appended(told: readonly WatchEvent[]): void {
    this.#take(told)
  }

  live(event: LiveEvent): void {
    this.next(event)
  }

  next(event: WatchEvent): void {
    this.#take([event])
  }

  replaced(view: View): void {
    this.#clear()
    this.next({ type: 'snapshot', view })
  }

  throwIfFailed(): void {
    if (this.#error) throw this.#error
  }

  failed(error: unknown): void {
    this.#error = error
    this.end()
  }

  /** A reader that has taken everything is not slow, however much comes at once. */
  #take(events: readonly WatchEvent[]): void {
    if (this.#isEnded) return
    const isBehind = this.#count > 0
    for (const event of events) {
      this.#events.push(event)
      this.#bytes += bytesOf(event)
    }
    if (isBehind && (this.#count > this.#most.events || this.#bytes > this.#most.bytes)) {
      this.#clear()
      this.#hasLagged = true
      this.end()
    }
    this.#wake?.()
  }

  end(): void {
    this.#isEnded = true
    this.#wake?.()
  }

  async *drain(): AsyncGenerator<WithMore, void, void> {
    for (;;) {
      for (let event = this.#shift(); event; event = this.#shift()) {
        this.#bytes -= bytesOf(event)
        if (event.type === 'snapshot') this.#lastSeq = event.view.seq
        else if ('content' in event) this.#lastSeq = event.seq
        yield { event, hasMore: this.#count > 0 }
      }
      if (this.#hasLagged) throw new WatcherLaggedError(this.#id, this.#lastSeq)
      if (this.#error) throw this.#error
      if (this.#isEnded) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
  }

  get #count(): number {
    return this.#events.length - this.#taken
  }

  /** What was taken stays in front until it is half of all: to move the rest with each event would cost their square. */
  #shift(): WatchEvent | undefined {
    const event = this.#events[this.#taken]
    if (event === undefined) return undefined
    this.#taken += 1
    if (this.#taken * 2 > this.#events.length) {
      this.#events.splice(0, this.#taken)
      this.#taken = 0
    }
    return event
  }

  #clear(): void {
    this.#events = []
    this.#taken = 0
    this.#bytes = 0
  }
}

function bytesOf(event: WatchEvent): number {
  return event.type === 'snapshot' ? stateWeight(event.view.log) : weightOf(event)
}

/** Tells one watcher of a conversation when its child agents begin or cease to wait for an answer. */
class WatchedChildren {
  readonly #channel: Channel
  readonly #tree: ChildTree
  readonly #tell: (event: LiveEvent) => void
  readonly #stopListening: () => void
  /** The view that the watcher received last; null before the first. */
  #told: string | null = null

  constructor(channel: Channel, channels: Channels, tenant: string, tell: (event: LiveEvent) => void) {
    this.#channel = channel
    this.#tell = tell
    const look = (): void => this.#look()
    this.#tree = new ChildTree(channels, tenant, look)
    const replaced = (): void => {
      this.#told &&= ''
      look()
    }
    this.#stopListening = channel.listen({ appended: look, replaced, failed: () => {} })
  }

  read(state: ConversationState): Promise<void> {
    return this.#tree.read(state)
  }

  /** The watcher's first view, with the children as they are now. */
  begin(view: View): View {
    const children = this.#tree.children(view.conversationId, view.log)
    this.#told = keyOf(children)
    return withChildren(view, children)
  }

  stop(): void {
    this.#stopListening()
    this.#tree.stop()
  }

  #look(): void {
    const { state, conversationId } = this.#channel
    if (!state) return
    const children = this.#tree.children(conversationId, state)
    const key = keyOf(children)
    if (this.#told === null || key === this.#told) return
    this.#told = key
    this.#tell({ type: 'children_changed', conversationId, seq: state.lastSeq, ...children })
  }
}

function keyOf({ waiting, pending }: Children): string {
  return JSON.stringify([waiting, pending.map(({ path, round }) => [path, round])])
}

/** The text of one turn as it comes. Text that was streamed and then withdrawn cannot be taken back here; `watch` tells of it. */
export async function* textStream(
  watched: Parameters<typeof watch>[0],
  turnId: string,
): AsyncGenerator<string, void, void> {
  const told = new Map<string, number>()
  let shown: GrowingView | null = null
  for await (const { event, hasMore } of watchWithMore(watched)) {
    if (shown) shown.take(event)
    else if (event.type === 'snapshot') shown = new GrowingView(event.view)
    // A commit may have thousands of events, and a view costs as much as it shows.
    if (!shown || (hasMore && !isTextDelta(event))) continue
    const { view } = shown
    for (const [messageId, text] of textsOf(view, turnId)) {
      const from = told.get(messageId) ?? 0
      if (text.length <= from) continue
      told.set(messageId, text.length)
      yield text.slice(from)
    }
    if (!findTurn(view.log, turnId) || outcomeOf(view.conversationId, view.log, turnId, view.children)) return
  }
}

function textsOf(view: View, turnId: string): [string, string][] {
  const committed = view.messages.flatMap((message): [string, string][] => {
    if (message.role !== 'assistant' || message.turnId !== turnId) return []
    return [[message.messageId, joined(message.parts)]]
  })
  const drafts = view.drafts
    .filter((draft) => draft.turnId === turnId)
    .map((draft): [string, string] => [draft.messageId, joined(draft.parts)])
  return [...committed, ...drafts]
}

function joined(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
