import { Backoff, jittered, monotonic } from '../../base/clock.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { WakeHint } from '../../store/store.ts'
import type { EngineNode } from '../node.ts'
import type { Claims, TakenDue } from './claims.ts'
import type { SkippedConversations } from './skipped-conversations.ts'

type SearchingNode = Pick<
  EngineNode,
  'store' | 'holder' | 'agents' | 'flows' | 'clock' | 'pollMs' | 'warnOfStore' | 'turnLimits'
>

/** The worker's side of the search. */
export type Searcher = {
  /** How many more conversations it can work on. */
  readonly room: () => number
  /** Those that it works on under a lease. Should the lease have lapsed, a claim of its own would cost the work that is under way. */
  readonly held: () => readonly ConversationRef[]
  /**
   * Must begin to work under the lease, or release it, before it returns; does not reject. The promise settles when the lease is known or released. `hintedSeq`: heard of while
   * it was claimed; what the claim has brought may be older.
   */
  readonly begin: (taken: TakenDue, hintedSeq: number) => Promise<void>
  /** There may be more than there is room for: it is looked for again when there is room. */
  readonly onFull: () => void
}

/** The most conversations of one claim: nodes that search at once share the due work, and a busy one searches again later. */
const mostAtOnce = 32

/** How much later than the worker that was named for a conversation the others look, so that they find it only where that one did not take it. */
const laterMs = 100

/** What has been due for less is left to the worker that was named for it. */
const graceMs = 40

/** The most ids that are remembered. Beyond that, the next search looks for all due work. */
const mostNamed = 1_000

/** Claims due conversations: at every poll, and at hints. One claim at a time. */
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
  /** Due, as a hint said, and for this process to take. */
  #named = new Map<string, ConversationRef>()
  /** The seqs heard of since the last claim began. What that brings may be older. */
  readonly #heard = new Map<string, number>()
  /** What others were named for is looked for. */
  #looksLate = false
  #isLookingLater = false
  /** When another process was last named, by a clock that only goes forward. */
  #otherNamedAt = Number.NEGATIVE_INFINITY
  /** Null while others must not name this process. */
  #unannounce: (() => void) | null = null
  #isTaker = true
  #isStarted = false
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
    this.#isStarted = true
    this.#announce()
    this.#every(this.#node.pollMs, () => this.look())
    void this.look()
  }

  /** Resolves when the last claim has been answered, and what it brought that cannot be begun has been released. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#announce()
    for (const cancel of this.#cancelTimers) cancel()
    await this.#looking
  }

  /** Whether others may name this process for what is due. */
  setTaker(isTaker: boolean): void {
    this.#isTaker = isTaker
    this.#announce()
  }

  /** Whether the last successful search was many polling intervals ago. */
  isStuck(): boolean {
    return performance.now() - this.#lookedAt > Math.max(10_000, this.#node.pollMs * 20)
  }

  /** The claim under way, until what it brought is known; null when there is none. */
  get claiming(): Promise<void> | null {
    return this.#claiming
  }

  /** Of a conversation that is not worked on here. */
  heard({ tenant, id, seq }: WakeHint): void {
    const key = conversationKey(tenant, id)
    const isKept = this.#claiming !== null && (this.#heard.size < mostNamed || this.#heard.has(key))
    if (isKept) this.#heard.set(key, Math.max(this.#heard.get(key) ?? 0, seq))
  }

  /** Something may be due. */
  hinted({ tenant, id, taker }: WakeHint): void {
    if (taker === undefined) void this.look()
    else if (taker === this.#node.holder) this.#lookFor({ tenant, id })
    else if (taker !== null) this.#otherIsNamed()
  }

  /** This process was named for a conversation that is due. Nothing else is looked for, except under limits: then free slots are for what is due longest. */
  #lookFor(ref: ConversationRef): void {
    if (!this.#node.turnLimits && this.#named.size < mostNamed)
      this.#named.set(conversationKey(ref.tenant, ref.id), ref)
    else this.#lookAgain = true
    void this.#begin()
  }

  /** Another process was named for a conversation that is due. */
  #otherIsNamed(): void {
    this.#otherNamedAt = monotonic(this.#node.clock)
    this.#lookLater()
  }

  #lookLater(): void {
    if (this.#isLookingLater || this.#isClosed) return
    this.#isLookingLater = true
    const cancel = this.#node.clock.after(jittered(laterMs), () => {
      this.#isLookingLater = false
      this.#looksLate = true
      void this.#begin()
      // This search leaves the last ones alone.
      if (monotonic(this.#node.clock) - this.#otherNamedAt < laterMs / 2) this.#lookLater()
    })
    this.#keepTimer(cancel)
  }

  /** Does not reject. A hint during a claim causes a search after it. */
  look(): Promise<void> {
    this.#lookAgain = true
    return this.#begin()
  }

  #begin(): Promise<void> {
    if (this.#looking !== null) return this.#looking
    if (this.#isClosed || monotonic(this.#node.clock) < this.#notBefore) return Promise.resolve()
    this.#looking = this.#lookWhileAsked()
    return this.#looking
  }

  /** Must be called when something is asked for. */
  async #lookWhileAsked(): Promise<void> {
    try {
      while ((this.#lookAgain || this.#looksLate || this.#named.size > 0) && !this.#isClosed) {
        const only = [...this.#named.values()]
        this.#named.clear()
        const isLate = !this.#lookAgain
        if (only.length === 0) this.#lookAgain = this.#looksLate = false
        this.#heard.clear()
        const claim = this.#takeDue(only.length > 0 ? only : null, isLate)
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
      // In the same step that leaves the loop: a hint one step later must begin a search of its own.
      this.#looking = null
    }
  }

  /** `only`: those that this process was named for; null: whatever is due. `isLate`: and was not just left to another process. */
  async #takeDue(only: readonly ConversationRef[] | null, isLate: boolean): Promise<void> {
    const room = this.#worker.room()
    if (room <= 0) {
      if (only) this.#worker.onFull()
      return
    }
    const limit = Math.min(room, only?.length ?? mostAtOnce)
    const skipped = this.#skipped.toSkip()
    const held = this.#worker.held().map((ref) => ({ ...ref, seq: null }))
    const taken = await this.#claims.takeDue({
      agents: this.#agents,
      limit,
      ...(only ? { except: skipped, only } : { except: [...skipped, ...held] }),
      ...(isLate && !only ? { dueForMs: graceMs } : {}),
    })
    if (only && only.length > room) this.#worker.onFull()
    if (!only && taken.length >= limit) {
      if (limit < room && isLate) this.#looksLate = true
      else if (limit < room) this.#lookAgain = true
      else this.#worker.onFull()
    }
    await Promise.all(taken.map((one) => this.#worker.begin(one, this.#heardOf(one))))
  }

  #heardOf({ tenant, id, lastSeq }: TakenDue): number {
    // Where not all could be remembered, it is read to be sure.
    return this.#heard.get(conversationKey(tenant, id)) ?? (this.#heard.size < mostNamed ? 0 : lastSeq + 1)
  }

  #announce(): void {
    const { store, holder } = this.#node
    if (this.#isTaker && this.#isStarted && !this.#isClosed)
      this.#unannounce ??= store.announce?.({ holder, agents: () => this.#agents }) ?? null
    else {
      this.#unannounce?.()
      this.#unannounce = null
    }
  }

  get #agents(): string[] {
    return [...this.#node.agents.keys(), ...this.#node.flows.sessionAgents()]
  }

  #every(ms: number, work: () => Promise<void>): void {
    const next = (): void => {
      if (this.#isClosed) return
      const cancel = this.#node.clock.after(ms, () => void work().finally(next))
      this.#keepTimer(cancel)
    }
    next()
  }

  #keepTimer(cancel: () => void): void {
    this.#cancelTimers.splice(0, this.#cancelTimers.length - 8)
    this.#cancelTimers.push(cancel)
  }
}
