/**
 * A tape of numbers that decides a simulation, so that fast-check can shrink it. Past its end every choice is 0; the caller puts what
 * leads to an end there.
 */
export class Choices {
  readonly #tape: readonly number[]
  #position = 0

  constructor(tape: readonly number[]) {
    this.#tape = tape
  }

  get isOver(): boolean {
    return this.#position >= this.#tape.length
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    const number = this.#tape[this.#position++] ?? 0
    return number % count
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}
