import { RateLimitedError } from '../../errors/server-errors.ts'

const retryAfterMs = 1_000

/** The work of operators that is under way. Each may hold a connection to the store for long, so there are only so many at once. */
export class Works {
  readonly #limit: number
  readonly #underWay = new Set<Promise<void>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  run(work: () => Promise<void>): Promise<void> {
    if (this.#underWay.size >= this.#limit) throw new RateLimitedError(retryAfterMs)
    const task = work().finally(() => this.#underWay.delete(task))
    this.#underWay.add(task)
    return task
  }

  /** Resolves when nothing uses the store any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }
}
