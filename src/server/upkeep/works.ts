import { RateLimitedError } from '../../base/errors/server-errors.ts'

const retryAfterMs = 1_000

/** The work of operators that is under way. Each may hold a connection to the store for long, so there are only so many at once. */
export class Works {
  readonly #limit: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay.size >= this.#limit) {
      const problem = `As much work of operators goes on as limits.upkeep (${this.#limit}) lets; wait for some to end`
      throw new RateLimitedError(retryAfterMs, problem)
    }
    const task = work().finally(() => this.#underWay.delete(task))
    this.#underWay.add(task)
    return task
  }

  /** Resolves when nothing uses the store any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }
}
