/** Lets so many work at once. The others wait in line, each no longer than the timeout. */
export class Slots {
  readonly #timeoutMs: number
  readonly #tooLong: () => Error
  readonly #waiting = new Set<() => void>()
  #free: number

  /** `tooLong`: what one that waited for longer than `timeoutMs` rejects with. */
  constructor(count: number, timeoutMs: number, tooLong: () => Error) {
    this.#free = count
    this.#timeoutMs = timeoutMs
    this.#tooLong = tooLong
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await this.#turn()
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(begin)
        reject(this.#tooLong())
      }, this.#timeoutMs)
      this.#waiting.add(begin)
    })
  }

  #pass(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#free += 1
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
