import type { Channel } from '../../src/engine/live/channel.ts'
import type { LogEvent, NewEvent } from '../../src/log/events.ts'
import { emptyState } from '../../src/log/state.ts'
import { type WorkingSet, withEvents } from '../../src/store/working-sets.ts'
import { projectView } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { placed } from '../log/story.ts'
import type { Filmed } from '../view/film.ts'

/** A log that a channel reads, as from a store. */
export class Log {
  events: LogEvent[] = []
  reads = 0
  /** What the next reading waits for, once it has read. */
  isSlow: Promise<void> | null = null
  error: unknown = null
  #origin = { summary: null }

  append(...events: NewEvent[]): LogEvent[] {
    const added = placed(events, this.events.length)
    this.events.push(...added)
    return added
  }

  replace(...events: NewEvent[]): void {
    this.#origin = { summary: null }
    this.events = placed(events).map((event) => ({ ...event, at: event.at + 1 }))
  }

  readonly read = async (known: WorkingSet | null) => {
    this.reads += 1
    if (this.error) throw this.error
    const empty: WorkingSet = { state: emptyState, lastAt: 0, origin: this.#origin }
    const seq = known?.state.lastSeq ?? 0
    const isSame = known !== null && (seq === 0 || this.events[seq - 1]?.at === known.lastAt)
    const events = isSame ? this.events.slice(seq) : null
    const found = events ? { ...withEvents(known!, events), events } : { ...withEvents(empty, this.events), events }
    await this.isSlow
    return found
  }
}

export const emptyWorkingSet: WorkingSet = { state: emptyState, lastAt: 0, origin: { summary: null } }

/** Joins as `watch` does: listens, reads, takes the view. Folds what it is told into it. */
export async function join(channel: Channel) {
  let view: View | null = null
  const told: (Filmed | 'replaced' | 'failed')[] = []
  const next = (event: Filmed): void => {
    if (view) told.push(event)
    if (view) view = projectView(view, event)
  }
  const leave = channel.listen({
    appended: (events) => events.forEach(next),
    live: next,
    replaced: (given) => {
      told.push('replaced')
      view = given
    },
    failed: () => void told.push('failed'),
  })
  await channel.refresh()
  view = channel.view()
  return { view: () => view!, told, leave, seqs: () => told.flatMap((event) => seqOf(event)) }
}

function seqOf(event: Filmed | string): number[] {
  return typeof event === 'object' && 'content' in event ? [event.seq] : []
}

export const settled = () => new Promise((resolve) => setImmediate(resolve))
