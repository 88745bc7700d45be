import type { LogEvent } from 'perdure/client'

/** Events of a log that were read, in chunks, so that none is read twice. */
export class EventLog {
  readonly #read: ReadEvents
  readonly #chunks = new Map<number, Chunk>()
  readonly #loading = new Map<number, Promise<void>>()
  readonly #listeners = new Set<() => void>()
  #last = 0
  #version = 0

  constructor(read: ReadEvents) {
    this.#read = read
  }

  /** The newest event that is known to exist. It may not be loaded. */
  get last(): number {
    return this.#last
  }

  /** Changes whenever an event was loaded. */
  get version(): number {
    return this.#version
  }

  /** How many events are loaded. */
  get loaded(): number {
    let count = 0
    for (const { events } of this.#chunks.values()) count += events.length
    return count
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The log has grown up to this event. */
  grow(last: number): void {
    if (last <= this.#last) return
    this.#last = last
    this.#tell()
  }

  /** The event, where it is loaded. */
  event(seq: number): LogEvent | undefined {
    return this.#chunks.get(chunkOf(seq))?.events[(seq - 1) % chunkSize]
  }

  /** The events from one to another, both included. Undefined unless all are loaded. */
  between(from: number, to: number): LogEvent[] | undefined {
    const found: LogEvent[] = []
    for (let index = chunkOf(from); index <= chunkOf(to); index++) {
      const start = index * chunkSize
      const events = this.#chunks.get(index)?.events ?? []
      const part = events.slice(Math.max(0, from - start - 1), Math.max(0, to - start))
      if (part.length < Math.min(to, start + chunkSize) - Math.max(from, start + 1) + 1) return undefined
      for (const event of part) found.push(event)
    }
    return found
  }

  /** Reads what is missing of these events. */
  async load(from: number, to: number): Promise<void> {
    const end = Math.min(to, this.#last)
    const missing: Promise<void>[] = []
    for (let index = chunkOf(Math.max(1, from)); index <= chunkOf(end) && end >= 1; index++) {
      const wanted = Math.min(this.#last, (index + 1) * chunkSize) - index * chunkSize
      if ((this.#chunks.get(index)?.events.length ?? 0) < wanted) missing.push(this.#loadChunk(index))
    }
    await Promise.all(missing)
  }

  /** One request at a time for each chunk; a chunk at the end of the log is read on from where it ended. */
  #loadChunk(index: number): Promise<void> {
    const known = this.#loading.get(index)
    if (known !== undefined) return known
    const loading = this.#readOn(index).finally(() => this.#loading.delete(index))
    this.#loading.set(index, loading)
    return loading
  }

  async #readOn(index: number): Promise<void> {
    const has = this.#chunks.get(index)?.events ?? []
    const after = index * chunkSize + has.length
    const read = await this.#read({ after, limit: chunkSize - has.length })
    const fitting = read.filter((event, place) => event.seq === after + place + 1)
    if (fitting.length === 0) return
    this.#chunks.set(index, { events: [...has, ...fitting] })
    this.#last = Math.max(this.#last, after + fitting.length)
    this.#tell()
  }

  #tell(): void {
    this.#version += 1
    for (const told of this.#listeners) told()
  }
}

export type ReadEvents = (range: { readonly after: number; readonly limit: number }) => Promise<readonly LogEvent[]>

type Chunk = { readonly events: readonly LogEvent[] }

/** As many as a page of the server has at most. */
export const chunkSize = 1_000

function chunkOf(seq: number): number {
  return Math.floor((seq - 1) / chunkSize)
}
