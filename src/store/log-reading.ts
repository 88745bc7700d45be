import { Backoff } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { StoreError } from '../base/errors/store-errors.ts'
import { errorText } from '../base/redact/error-text.ts'

/** When whoever holds a log has to read it again: others have appended to it, or the store has failed, and is left alone for a while first. */
export class LogReading {
  readonly #clock: Clock
  readonly #backoff = new Backoff()
  #hintedSeq = 0
  #isDemanded = false
  #problem: PerdureError | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whatever has been heard of it, it must be read. */
  get isDemanded(): boolean {
    return this.#isDemanded
  }

  /** 0 when the last thing that was tried went well. */
  get waitMs(): number {
    return this.#backoff.waitMs
  }

  /** What the store failed with, until it takes a write. */
  get problem(): PerdureError | null {
    return this.#problem
  }

  /** Somebody appended. */
  hint(seq: number): void {
    this.#hintedSeq = Math.max(this.#hintedSeq, seq)
  }

  isHinted(lastSeq: number): boolean {
    return this.#hintedSeq > lastSeq
  }

  isDue(lastSeq: number): boolean {
    return this.#isDemanded || this.isHinted(lastSeq)
  }

  demand(): void {
    this.#isDemanded = true
  }

  async pause(): Promise<void> {
    const { waitMs } = this.#backoff
    if (waitMs > 0) await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve))
  }

  /** Rejects as `read` does, and then it is still to be read. */
  async run(read: () => Promise<void>): Promise<void> {
    const hintedSeq = this.#hintedSeq
    // The log that is read now has all that was heard of by now, or that was of one which is no more.
    this.#hintedSeq = 0
    try {
      await read()
    } catch (error) {
      this.hint(hintedSeq)
      throw error
    }
    this.#isDemanded = false
    this.#backoff.hasRead()
  }

  hasWritten(): void {
    this.#problem = null
    this.#backoff.hasWritten()
  }

  /** The store failed: what is known may be wrong. */
  hasFailed(error: unknown): void {
    this.#problem = PerdureError.isInstance(error) ? error : new StoreError(errorText(error), { cause: error })
    this.#isDemanded = true
    this.#backoff.failed()
  }
}
