import { Backoff, monotonic } from '../../base/clock.ts'
import type { EngineNode } from '../node.ts'
import type { Claims, TakenDue } from './claims.ts'
import type { SkippedConversations } from './skipped-conversations.ts'

type SearchingNode = Pick<EngineNode, 'store' | 'agents' | 'flows' | 'clock' | 'pollMs' | 'warnOfStore'>

/** What the search asks of the worker, and tells it. */
export type Searcher = {
  /** How many more conversations it can work on. */
  readonly room: () => number
  /** Must begin to work under the lease, or release it, before it returns; does not reject. The promise settles when the lease is known or released. */
  readonly begin: (taken: TakenDue) => Promise<void>
  /** There may be more than there is room for: it is looked for again when there is room. */
  readonly onFull: () => void
}

/** The most conversations of one claim: several nodes that look at once share what is due, and a busy one comes back later. */
const mostAtOnce = 32

/** Claims due conversations: at every poll, and when something is heard of. One claim at a time. */
export class WorkSearch {
  readonly #node: SearchingNode
  readonly #claims: Claims
  readonly #skipped: SkippedConversations
  readonly #worker: Searcher
  readonly #failures = new Backoff()
  readonly #cancelTimers: (() => void)[] = []
  #looking: Promise<void> | null = null
  #claiming: Promise<void> | null = null
  #lookAgain = false
  /** After a search that failed, by a clock that only goes forward. */
  #notBefore = 0
  /** When the search succeeded last, by a clock that only goes forward. */
  #lookedAt = performance.now()
  #isClosed = false

  constructor(node: SearchingNode, claims: Claims, skipped: SkippedConversations, worker: Searcher) {
    this.#node = node
    this.#claims = claims
    this.#skipped = skipped
    this.#worker = worker
  }

  start(): void {
    this.#every(this.#node.pollMs, () => this.look())
    void this.look()
  }

  /** Resolves when the last claim has been answered, and what it brought that cannot be begun has been released. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const cancel of this.#cancelTimers) cancel()
    await this.#looking
  }

  /** Whether the last successful search was many polling intervals ago. */
  isStuck(): boolean {
    return performance.now() - this.#lookedAt > Math.max(10_000, this.#node.pollMs * 20)
  }

  /** The claim under way, until what it brought is known; null when there is none. */
  get claiming(): Promise<void> | null {
    return this.#claiming
  }

  /** Does not reject. What is heard of while a claim is under way is looked for after it. */
  look(): Promise<void> {
    this.#lookAgain = true
    if (this.#looking !== null) return this.#looking
    if (this.#isClosed || monotonic(this.#node.clock) < this.#notBefore) return Promise.resolve()
    this.#looking = this.#lookWhileAsked().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #lookWhileAsked(): Promise<void> {
    try {
      while (this.#lookAgain && !this.#isClosed) {
        this.#lookAgain = false
        const claim = this.#takeDue()
        this.#claiming = claim.catch(() => {})
        await claim
        this.#failures.hasWritten()
        this.#lookedAt = performance.now()
      }
    } catch (error) {
      this.#failures.failed()
      this.#notBefore = monotonic(this.#node.clock) + this.#failures.waitMs
      if (!this.#isClosed) this.#node.warnOfStore('looking for work failed; trying again', { error })
    } finally {
      this.#claiming = null
    }
  }

  async #takeDue(): Promise<void> {
    const { agents, flows } = this.#node
    const room = this.#worker.room()
    if (room <= 0) return
    const limit = Math.min(room, mostAtOnce)
    const names = [...agents.keys(), ...flows.sessionAgents()]
    const taken = await this.#claims.takeDue({ agents: names, limit, except: this.#skipped.leftAlone() })
    if (taken.length >= limit) {
      if (limit < room) this.#lookAgain = true
      else this.#worker.onFull()
    }
    await Promise.all(taken.map((one) => this.#worker.begin(one)))
  }

  #every(ms: number, work: () => Promise<void>): void {
    const next = (): void => {
      if (this.#isClosed) return
      const cancel = this.#node.clock.after(ms, () => void work().finally(next))
      this.#cancelTimers.splice(0, this.#cancelTimers.length - 8)
      this.#cancelTimers.push(cancel)
    }
    next()
  }
}
