import { delayAfter, storeDelays } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { lapseWithinMs } from '../../store/lease.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { Store, WatchedLog } from '../../store/store.ts'
import type { EngineNode } from '../node.ts'
import { type HeldLease, type LeaseKeeper, momentOf } from './lease-keeper.ts'

type ClaimingNode = Pick<EngineNode, 'store' | 'holder' | 'leaseMs' | 'clock' | 'logger'>

type Claimed = { readonly lease: HeldLease; readonly lapses: number }

/**
 * Claims conversations for this process. A conversation whose last leases lapsed is a suspect: it may be what ended the processes. A process holds one
 * suspect at a time, so that when it dies, only that one gets another lapse and comes closer to its quarantine. A suspect that is held for so long that its
 * end would be no lapse makes place for the next: it may run for hours, and others, its own parent among them, must not wait for it.
 */
export class Claims {
  readonly #node: ClaimingNode
  readonly #leases: LeaseKeeper
  readonly #onPlaceFree: () => void
  /** The suspect that is held, or about to be. */
  #suspect: string | null = null
  #callOff: () => void = () => {}

  /** `onPlaceFree`: another suspect may be taken. */
  constructor(node: ClaimingNode, leases: LeaseKeeper, onPlaceFree: () => void) {
    this.#node = node
    this.#leases = leases
    this.#onPlaceFree = onPlaceFree
  }

  get hasPlaceForSuspect(): boolean {
    return this.#suspect === null
  }

  /** Null when another node has it, or when it is a suspect and another suspect is held. */
  async take(ref: ConversationRef): Promise<HeldLease | null> {
    const claimed = await this.#claim(ref, false)
    if (claimed !== 'suspect') return claimed?.lease ?? null
    return this.hasPlaceForSuspect ? this.#takeSuspect(ref) : null
  }

  /** Must be called when the conversation is held no longer. */
  leave({ tenant, id }: ConversationRef): void {
    if (this.#suspect !== conversationKey(tenant, id)) return
    this.#suspect = null
    this.#callOff()
    this.#onPlaceFree()
  }

  async #takeSuspect(ref: ConversationRef): Promise<HeldLease | null> {
    this.#suspect = conversationKey(ref.tenant, ref.id)
    const claimed = await this.#claim(ref, true).catch((error: unknown) => {
      // Not by `leave`, which has the worker look for more at once: that would fail, too.
      this.#suspect = null
      throw error
    })
    const taken = claimed === 'suspect' ? null : claimed
    if (!taken || taken.lapses === 0) this.leave(ref)
    else this.#callOff = this.#node.clock.after(lapseWithinMs, () => this.leave(ref))
    return taken?.lease ?? null
  }

  async #claim(ref: ConversationRef, suspects: boolean): Promise<Claimed | 'suspect' | null> {
    const { store, holder, leaseMs, clock, logger } = this.#node
    const askedAt = momentOf(clock)
    try {
      const outcome = await store.forTenant(ref.tenant).claimLease(ref.id, holder, leaseMs, { suspects })
      if (outcome.type === 'quarantined') {
        logger.error('a conversation was quarantined: the last processes that worked on it ended while doing so', ref)
      }
      if (outcome.type === 'suspect') return 'suspect'
      if (outcome.type !== 'taken') return null
      return { lease: this.#leases.holding(ref, outcome.epoch, askedAt), lapses: outcome.lapses }
    } catch (error) {
      this.#leases.lookForStrays()
      throw error
    }
  }
}

/** How long a conversation is skipped after a first failure, and at most. A failure that may pass by itself is retried sooner. */
const passing = storeDelays
const lasting = { firstMs: 1_000, mostMs: 60_000 }

type Aside = { readonly until: number; readonly failures: number }

/**
 * Conversations that this node skips when it looks for work. One that it cannot work on as it is, or was told to let go of, is skipped until its log
 * grows. One that it failed to work on is retried later, after a pause that grows with each failure in a row.
 */
export class SkippedConversations {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #aside = new Map<string, Aside>()
  /** The seq at which each was skipped. */
  readonly #seqs = new Map<string, number>()
  /** Until when each is skipped; for ever, where only a growing log helps. */
  readonly #until = new Map<string, number>()
  /** What stopped the work on each. */
  readonly #problems = new Map<string, PerdureError>()

  constructor(logger: Logger, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  get size(): number {
    return this.#seqs.size + this.#aside.size
  }

  /** Work on it failed. */
  retryLater({ tenant, id }: ConversationRef, error: unknown): void {
    const key = conversationKey(tenant, id)
    const failures = (this.#aside.get(key)?.failures ?? 0) + 1
    const delays = PerdureError.isInstance(error) && error.retryable ? passing : lasting
    this.#aside.set(key, { until: this.#now() + delayAfter(failures, delays), failures })
    this.#problems.set(key, PerdureError.isInstance(error) ? error : new StoreError(errorText(error), { cause: error }))
  }

  waitsForRetry({ tenant, id }: ConversationRef): boolean {
    return (this.#aside.get(conversationKey(tenant, id))?.until ?? 0) > this.#now()
  }

  /** Work on it succeeded, or another node has it. */
  unskip({ tenant, id }: ConversationRef): void {
    this.#aside.delete(conversationKey(tenant, id))
  }

  add({ tenant, id }: ConversationRef, lastSeq: number, forMs = Number.POSITIVE_INFINITY): void {
    const key = conversationKey(tenant, id)
    this.#seqs.set(key, lastSeq)
    this.#until.set(key, this.#now() + forMs)
  }

  /** The due conversations worth reading: those that neither wait for a retry nor are skipped with an unchanged log. One statement checks 1,000 of them. */
  async toLookAt(due: readonly ConversationRef[], store: Pick<Store, 'movedLogs'>): Promise<ConversationRef[]> {
    const ready = due.filter((ref) => !this.waitsForRetry(ref))
    const left = ready.flatMap((ref) => this.#leftLog(ref) ?? [])
    if (left.length === 0) return ready
    const asked = left.filter(({ seq }) => Number.isFinite(seq))
    const moved = asked.length === 0 ? [] : await store.movedLogs(asked)
    const resting = new Set(left.map(({ tenant, id }) => conversationKey(tenant, id)))
    for (const { tenant, id } of moved) resting.delete(conversationKey(tenant, id))
    return ready.filter(({ tenant, id }) => !resting.has(conversationKey(tenant, id)))
  }

  #leftLog({ tenant, id }: ConversationRef): WatchedLog | null {
    const key = conversationKey(tenant, id)
    const seq = this.#seqs.get(key)
    const isOver = this.#now() >= (this.#until.get(key) ?? 0)
    return seq === undefined || isOver ? null : { tenant, id, seq, at: null, status: null }
  }

  /** False once its log has grown or its time is over; then it is forgotten here. */
  has({ tenant, id }: ConversationRef, lastSeq: number): boolean {
    const key = conversationKey(tenant, id)
    const leftAt = this.#seqs.get(key)
    const isOver = this.#now() >= (this.#until.get(key) ?? 0)
    if (leftAt !== undefined && leftAt >= lastSeq && !isOver) return true
    this.#seqs.delete(key)
    this.#until.delete(key)
    return false
  }

  /** A damaged row must not keep other conversations from being found. It is logged once. */
  addUnreadable({ tenant, id }: ConversationRef, error: unknown): null {
    const isDamaged = PerdureError.isInstance(error) && error.code === 'conversation_unreadable'
    if (!isDamaged) throw error
    if (!this.#seqs.has(conversationKey(tenant, id))) {
      this.#logger.error('a conversation cannot be worked on here', { tenant, id, error })
    }
    this.add({ tenant, id }, 0)
    return null
  }

  /** What stopped the work on it; null when it is tried again. */
  setProblem({ tenant, id }: ConversationRef, problem: PerdureError | null): void {
    if (problem) this.#problems.set(conversationKey(tenant, id), problem)
    else this.#problems.delete(conversationKey(tenant, id))
  }

  /** Null once its log has grown: another node may have gone on with it. */
  problemOf({ tenant, id }: ConversationRef, lastSeq = 0): PerdureError | null {
    const key = conversationKey(tenant, id)
    return lastSeq > (this.#seqs.get(key) ?? Number.POSITIVE_INFINITY) ? null : (this.#problems.get(key) ?? null)
  }
}

/** Waiting does not help: the log must grow, or the code change. */
export function isHopeless(error: unknown): error is PerdureError {
  return PerdureError.isInstance(error) && (error.code.startsWith('event_') || hopelessCodes.has(error.code))
}

const hopelessCodes: ReadonlySet<string> = new Set(['flow_diverged', 'agent_missing', 'tool_missing'])
