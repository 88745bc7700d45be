/** Keeps the process from ending while something is under way: all other timers let it go. */
export class KeepAlive {
  #holders = 0
  #timer: NodeJS.Timeout | null = null

  #isEnded = false

  /** Whatever is still under way may be cut off by the end of the process. */
  end(): void {
    this.#isEnded = true
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  hold(): () => void {
    this.#holders += 1
    if (!this.#isEnded) this.#timer ??= setInterval(() => {}, 60_000)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holders -= 1
      if (this.#holders > 0 || !this.#timer) return
      clearInterval(this.#timer)
      this.#timer = null
    }
  }
}
