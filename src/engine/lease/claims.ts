import { delayAfter, storeDelays } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { lapseWithinMs } from '../../store/lease.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { Store, WatchedLog } from '../../store/store.ts'
import type { EngineNode } from '../node.ts'
import { type HeldLease, momentOf } from './held-lease.ts'
import type { LeaseKeeper } from './lease-keeper.ts'

type ClaimingNode = Pick<EngineNode, 'store' | 'holder' | 'leaseMs' | 'clock' | 'logger'>

type Claimed = { readonly lease: HeldLease; readonly lapses: number }

/**
 * Takes conversations for this process. Of those whose last leases lapsed it holds one at a time: when the process ends under it, no other with lapses has
 * one more, so that only the one that ends processes gets to the number that quarantines it. One that is held for so long that its end would be no lapse makes
 * place for the next: it may run for hours, and others, its own parent among them, must not wait for it.
 */
export class Claims {
  readonly #node: ClaimingNode
  readonly #leases: LeaseKeeper
  readonly #onPlaceFree: () => void
  /** The one with lapses that is held, or about to be. */
  #suspect: string | null = null
  #callOff: () => void = () => {}

  /** `onPlaceFree`: another conversation with lapses may be taken. */
  constructor(node: ClaimingNode, leases: LeaseKeeper, onPlaceFree: () => void) {
    this.#node = node
    this.#leases = leases
    this.#onPlaceFree = onPlaceFree
  }

  get hasPlaceForSuspect(): boolean {
    return this.#suspect === null
  }

  /** Null when another has it, or it has lapses and there is no place for it now. */
  async take(ref: ConversationRef): Promise<HeldLease | null> {
    const claimed = await this.#claim(ref, false)
    if (claimed !== 'suspect') return claimed?.lease ?? null
    return this.hasPlaceForSuspect ? this.#takeSuspect(ref) : null
  }

  /** To be called when it is held no longer. */
  leave({ tenant, id }: ConversationRef): void {
    if (this.#suspect !== conversationKey(tenant, id)) return
    this.#suspect = null
    this.#callOff()
    this.#onPlaceFree()
  }

  async #takeSuspect(ref: ConversationRef): Promise<HeldLease | null> {
    this.#suspect = conversationKey(ref.tenant, ref.id)
    const claimed = await this.#claim(ref, true).catch((error: unknown) => {
      // Not by `leave`: what is looked for at once would fail at once.
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
        logger.error('a conversation was quarantined: the last processes that worked on it ended under it', ref)
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

/** How long a conversation is set aside after a first failure, and at most. What may pass by itself is tried sooner. */
const passing = storeDelays
const lasting = { firstMs: 1_000, mostMs: 60_000 }

type Aside = { readonly until: number; readonly failures: number }

/**
 * The conversations a node cannot work on as they are, or was told to let go of: each is left alone until its log grows. And those it has failed to work
 * on: each is set aside, for longer with every failure in a row.
 */
export class SkippedConversations {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #aside = new Map<string, Aside>()
  /** By the seq they were left at. */
  readonly #seqs = new Map<string, number>()
  /** Until when; for ever, where only a growing log helps. */
  readonly #until = new Map<string, number>()
  /** Why: their logs have what this code cannot fold or replay. */
  readonly #problems = new Map<string, PerdureError>()

  constructor(logger: Logger, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  get size(): number {
    return this.#seqs.size + this.#aside.size
  }

  /** Working on it failed. */
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

  /** Working on it went well, or is another's. */
  unskip({ tenant, id }: ConversationRef): void {
    this.#aside.delete(conversationKey(tenant, id))
  }

  add({ tenant, id }: ConversationRef, lastSeq: number, forMs = Number.POSITIVE_INFINITY): void {
    const key = conversationKey(tenant, id)
    this.#seqs.set(key, lastSeq)
    this.#until.set(key, this.#now() + forMs)
  }

  /** The due conversations worth reading: those that are neither set aside nor left alone with an unchanged log. One statement checks 1,000 of them. */
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

  /** False once its log has grown or its time is over; from then on it is one like any other. */
  has({ tenant, id }: ConversationRef, lastSeq: number): boolean {
    const key = conversationKey(tenant, id)
    const leftAt = this.#seqs.get(key)
    const isOver = this.#now() >= (this.#until.get(key) ?? 0)
    if (leftAt !== undefined && leftAt >= lastSeq && !isOver) return true
    this.#seqs.delete(key)
    this.#until.delete(key)
    return false
  }

  /** A row that is damaged must not keep the others from being found. It is told of once. */
  addUnreadable({ tenant, id }: ConversationRef, error: unknown): null {
    const isDamaged = PerdureError.isInstance(error) && error.code === 'conversation_unreadable'
    if (!isDamaged) throw error
    if (!this.#seqs.has(conversationKey(tenant, id))) {
      this.#logger.error('a conversation cannot be worked on here', { tenant, id, error })
    }
    this.add({ tenant, id }, 0)
    return null
  }

  /** What stopped the work on it; null: it is tried again. */
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
