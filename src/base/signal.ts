/** Wakes one waiter; remembered when nobody waits. */
export class Signal {
  #isSet = false
  #wake: (() => void) | null = null

  set(): void {
    this.#isSet = true
    this.#wake?.()
  }

  async wait(): Promise<void> {
    if (!this.#isSet) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#isSet = false
    this.#wake = null
  }
}
