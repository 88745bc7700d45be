/** The newest frames of a feed, numbered from 1, up to a number of bytes. */
export class Recent {
  readonly #mostBytes: number
  #frames: Uint8Array[] = []
  #bytes = 0
  #lastIndex = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get lastIndex(): number {
    return this.#lastIndex
  }

  push(frame: Uint8Array): void {
    this.#lastIndex += 1
    this.#frames.push(frame)
    this.#bytes += frame.byteLength
    while (this.#bytes > this.#mostBytes) this.#bytes -= this.#frames.shift()!.byteLength
  }

  /** Null when what follows is not all there. */
  after(index: number): readonly Uint8Array[] | null {
    const missed = this.#lastIndex - index
    if (missed < 0 || missed > this.#frames.length) return null
    return missed === 0 ? [] : this.#frames.slice(-missed)
  }
}
