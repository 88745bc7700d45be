import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { errorText } from '../../base/redact/error-text.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Store } from '../../store/store.ts'
import type { WatchedLog } from '../../store/watched-log.ts'

/** How long a conversation is set aside after a first failure, and at most. What may pass by itself is tried sooner. */
const passing = { firstMs: 50, longestMs: 5_000 }
const lasting = { firstMs: 1_000, longestMs: 60_000 }

type Aside = { readonly until: number; readonly failures: number }

/**
 * The conversations a node cannot work on as they are, or was told to let go of: each is left alone until its log grows. And those it has failed to work
 * on: each is set aside, for longer with every failure in a row.
 */
export class LeftAlone {
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
  setAside({ tenant, id }: ConversationRef, error: unknown): void {
    const key = conversationKey(tenant, id)
    const failures = (this.#aside.get(key)?.failures ?? 0) + 1
    const { firstMs, longestMs } = PerdureError.isInstance(error) && error.retryable ? passing : lasting
    this.#aside.set(key, { until: this.#now() + Math.min(longestMs, firstMs * 2 ** (failures - 1)), failures })
    this.#problems.set(key, PerdureError.isInstance(error) ? error : new StoreError(errorText(error), { cause: error }))
  }

  isAside({ tenant, id }: ConversationRef): boolean {
    return (this.#aside.get(conversationKey(tenant, id))?.until ?? 0) > this.#now()
  }

  /** Working on it went well, or is another's. */
  takeBack({ tenant, id }: ConversationRef): void {
    this.#aside.delete(conversationKey(tenant, id))
  }

  add({ tenant, id }: ConversationRef, lastSeq: number, forMs = Number.POSITIVE_INFINITY): void {
    const key = conversationKey(tenant, id)
    this.#seqs.set(key, lastSeq)
    this.#until.set(key, this.#now() + forMs)
  }

  /** The due conversations worth reading: those that are neither set aside nor left alone with an unchanged log. One statement checks 1,000 of them. */
  async toLookAt(due: readonly ConversationRef[], store: Pick<Store, 'movedLogs'>): Promise<ConversationRef[]> {
    const ready = due.filter((ref) => !this.isAside(ref))
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
