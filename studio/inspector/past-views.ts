import { foldView, type LogEvent, PerdureError, type View } from 'perdure/client'
import { chunkSize, type EventLog } from './event-log.ts'

/**
 * Views of past moments, folded from the log by the function that the server uses. The server gives the view of every 1,000th event, so a long log is not read
 * whole; steps between them are folded here, from the nearest view that is kept.
 */
export class PastViews {
  readonly #log: EventLog
  readonly #checkpointAt: (seq: number) => Promise<View>
  readonly #kept = new Map<number, View>()
  /** Checkpoints that are on their way: panes that show the same moment ask together. */
  readonly #asked = new Map<number, Promise<View>>()
  readonly #strides = new Set<number>()
  readonly #steps = new Set<number>()

  constructor(log: EventLog, checkpointAt: (seq: number) => Promise<View>) {
    this.#log = log
    this.#checkpointAt = checkpointAt
  }

  /** The view after that event, when everything it needs is here. */
  peek(seq: number): View | undefined {
    const known = this.#kept.get(seq)
    if (known) return known
    const base = this.#nearest(seq)
    const events = base && this.#log.between(base.seq + 1, seq)
    if (!base || !events) return undefined
    return this.#fold(base, events, seq)
  }

  /** The view after that event. Reads what is missing. */
  async at(seq: number): Promise<View> {
    const ready = this.peek(seq)
    if (ready) return ready
    const checkpoint = checkpointOf(seq)
    const [base] = await Promise.all([
      this.#kept.get(checkpoint) ?? this.#checkpoint(checkpoint),
      this.#log.load(checkpoint + 1, seq),
    ])
    if (base.seq !== checkpoint)
      throw new Error(`The server gave the view of event ${base.seq} for event ${checkpoint}.`)
    this.#kept.set(checkpoint, base)
    const view = this.peek(seq)
    if (!view) throw new Error(`The log has no event ${seq}.`)
    return view
  }

  #checkpoint(seq: number): Promise<View> {
    const known = this.#asked.get(seq)
    if (known) return known
    const asked = this.#checkpointAt(seq).finally(() => this.#asked.delete(seq))
    this.#asked.set(seq, asked)
    return asked
  }

  /** A view that was kept, of that moment or before it, without a checkpoint of the server between them. */
  #nearest(seq: number): View | undefined {
    const checkpoint = checkpointOf(seq)
    for (let at = seq - (seq % stride); at > checkpoint; at -= stride) {
      const view = this.#kept.get(at)
      if (view) return view
    }
    return this.#kept.get(checkpoint)
  }

  /** Keeps a view every few events, so that a step back does not fold the whole chunk again. */
  #fold(base: View, events: readonly LogEvent[], seq: number): View {
    let view = base
    let from = 0
    for (let at = base.seq - (base.seq % stride) + stride; at < seq; at += stride) {
      const to = at - base.seq
      view = foldKnown(view, events.slice(from, to))
      if (view.seq !== at) return view
      this.#keep(at, view)
      from = to
    }
    const folded = from < events.length ? foldKnown(view, events.slice(from)) : view
    if (folded.seq === seq) this.#keep(seq, folded)
    return folded
  }

  /** Single steps are forgotten first: those between them are quick to fold again. Checkpoints of the server stay. */
  #keep(seq: number, view: View): void {
    this.#kept.set(seq, view)
    const [among, most] = seq % stride === 0 ? [this.#strides, mostStrides] : [this.#steps, mostSteps]
    if (seq % chunkSize === 0) return
    among.add(seq)
    if (among.size <= most) return
    const oldest = among.values().next().value!
    among.delete(oldest)
    this.#kept.delete(oldest)
  }
}

/** Folds up to an event of a type that this version does not know. The view then ends before it, and says so. */
function foldKnown(view: View, events: readonly LogEvent[]): View {
  try {
    return foldView(view, events)
  } catch (error) {
    const unknown = PerdureError.isInstance(error) ? (error as Partial<View>).unknownEvent : undefined
    if (!unknown) throw error
    return {
      ...foldView(
        view,
        events.filter(({ seq }) => seq < unknown.seq),
      ),
      unknownEvent: unknown,
    }
  }
}

const stride = 50
const mostStrides = 100
const mostSteps = 20

/** The checkpoint before an event: 0 is the empty log. */
function checkpointOf(seq: number): number {
  return Math.floor((seq - 1) / chunkSize) * chunkSize
}

/** The view of a log without events. */
export function emptyView(conversationId: string): View {
  return {
    conversationId,
    seq: 0,
    title: null,
    phase: 'idle',
    state: null,
    activity: null,
    messages: [],
    notes: [],
    before: null,
    pending: [],
    children: { waiting: [], pending: [] },
    drafts: [],
    progress: {},
    log: { lastSeq: 0, title: null, seed: null, turns: [] },
  }
}
