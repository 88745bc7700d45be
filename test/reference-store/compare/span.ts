/**
 * A time the reference knows only to lie within bounds: a real store reads its own clock. The first value seen narrows it to a point, and
 * from then on it must be exactly that. One object is shared where the contract says that two times are the same.
 */
export class Span {
  lo: number
  hi: number
  /** How far the store's clock may be from ours; 0 once the time is known. */
  #slackMs: number

  constructor(lo: number, hi: number = lo, slackMs = 0) {
    this.lo = lo
    this.hi = hi
    this.#slackMs = slackMs
  }

  plus(ms: number): Span {
    return new Span(this.lo + ms, this.hi + ms, this.#slackMs)
  }

  copy(): Span {
    return this.plus(0)
  }

  /** Somewhere between the two. */
  until(end: Span): Span {
    return new Span(this.lo, end.hi, Math.max(this.#slackMs, end.#slackMs))
  }

  get isKnown(): boolean {
    return this.lo === this.hi && this.#slackMs === 0
  }

  /** The time, once it is known. */
  get at(): number {
    if (!this.isKnown) throw new Error(`a time between ${this.lo} and ${this.hi} was used before it was learned`)
    return this.lo
  }

  isCertainlyBefore(other: Span): boolean {
    return this.hi + this.#slackMs + other.#slackMs < other.lo
  }

  /** Null when the value fits; then it is the time. */
  learn(value: unknown): string | null {
    const fits = Number.isSafeInteger(value) && this.#holds(value as number)
    if (!fits) return `expected a time from ${this.lo} to ${this.hi} (±${this.#slackMs}), got ${String(value)}`
    this.lo = value as number
    this.hi = value as number
    this.#slackMs = 0
    return null
  }

  #holds(value: number): boolean {
    return value >= this.lo - this.#slackMs && value <= this.hi + this.#slackMs
  }
}
