import type { ByteBudget, Reservation } from '../../server/byte-budget.ts'
import { StalledClientError } from '../../server/byte-budget.ts'
import type { Limits } from '../../server/server-options.ts'

/** What the server answers in less is not counted. */
const leastBytes = 64 * 1024

/** The memory that the answer to one request of an MCP client takes, from what is read for it until the client has received it. */
export class HeldBytes {
  readonly #budget: ByteBudget
  readonly #limits: Limits
  #reservation: Reservation | null = null
  #isSent = false
  #cutOff: () => void = () => {}

  constructor(budget: ByteBudget, limits: Limits) {
    this.#budget = budget
    this.#limits = limits
  }

  /** Waits for room for what a route answered, once for each request. Throws `RateLimitedError` when there is none. */
  async take({ headers }: Response, signal: AbortSignal): Promise<void> {
    const isLarge = Number(headers.get('content-length') ?? 0) >= leastBytes
    if (!isLarge || this.#reservation || this.#isSent) return
    const { answerBytes, waitMs } = this.#limits
    const reservation = await this.#budget.reserve(answerBytes, { signal, waitMs })
    reservation.keep(answerBytes, () => this.#cutOff())
    if (this.#isSent) reservation.release()
    else this.#reservation = reservation
  }

  /** Gives the memory back when the client has received the response, or has left. */
  untilSent(response: Response): Response {
    if (!response.body) {
      this.release()
      return response
    }
    const reader = response.body.getReader()
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#cutOff = () => {
            this.#isSent = true
            controller.error(new StalledClientError())
            void reader.cancel().catch(() => {})
          }
        },
        pull: async (controller) => {
          const { done, value } = await reader.read()
          if (value) controller.enqueue(value)
          if (!done) return
          this.release()
          controller.close()
        },
        cancel: (reason) => {
          this.release()
          return reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, response)
  }

  release(): void {
    this.#isSent = true
    this.#reservation?.release()
    this.#reservation = null
  }
}
