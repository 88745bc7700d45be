/** Checking a value would take more than it may. The message is half a sentence that says what of, for `SchemaTooComplexError`. */
export class TooComplex extends Error {}

/**
 * Counts what is done for a schema. Steps, and never time: so that every node, however busy, gives up at the same place. A step stands for
 * some 50 ns of work at most, on a machine of today.
 */
export class StepBudget {
  readonly #limit: number
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get taken(): number {
    return this.#taken
  }

  /** Must be called before the work it stands for. Throws `TooComplex`. */
  take(steps: number): void {
    this.#taken += steps
    if (this.#taken > this.#limit) throw new TooComplex(`it takes more than ${this.#limit.toLocaleString('en')} steps`)
  }
}

/** To look at a text as a whole, which the machine does many characters at a time. */
export function stepsOfText(text: string): number {
  return 1 + (text.length >> 4)
}
