import { delayAfter, storeDelays } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { Logger } from '../../base/logger.ts'
import { errorText } from '../../base/redact/redactor.ts'
import type { SkippedConversation } from '../../store/claim-due.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'

/** How long a conversation is skipped after a first failure, and at most. A failure that may pass by itself is retried sooner. */
const passing = storeDelays
const lasting = { firstMs: 1_000, mostMs: 60_000 }

type Aside = { readonly ref: ConversationRef; readonly until: number; readonly failures: number }

/** Skipped while its log ends at `seq` or before, until then at most. */
type Skipped = { readonly ref: ConversationRef; readonly seq: number; readonly until: number }

/** How many conversations a claim is told to skip. One beyond that is claimed and released again. */
const mostTold = 10_000

/** How long a row that cannot be read is skipped. Its repair does not make the log longer. */
const unreadableMs = 5_000

/**
 * Conversations that this node skips when it looks for work. One that it cannot work on as it is, or was told to release, is skipped until its log
 * grows. One that it failed to work on is retried later, after a pause that grows with each failure in a row.
 */
export class SkippedConversations {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #aside = new Map<string, Aside>()
  readonly #skipped = new Map<string, Skipped>()
  /** What stopped the work on each. */
  readonly #problems = new Map<string, PerdureError>()

  constructor(logger: Logger, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  /** Work on it failed. */
  retryLater({ tenant, id }: ConversationRef, error: unknown): void {
    const key = conversationKey(tenant, id)
    const failures = (this.#aside.get(key)?.failures ?? 0) + 1
    const delays = PerdureError.isInstance(error) && error.retryable ? passing : lasting
    this.#aside.set(key, { ref: { tenant, id }, until: this.#now() + delayAfter(failures, delays), failures })
    this.#problems.set(key, PerdureError.isInstance(error) ? error : new StoreError(errorText(error), { cause: error }))
  }

  /** Work on it succeeded, or another node has it. */
  unskip({ tenant, id }: ConversationRef): void {
    this.#aside.delete(conversationKey(tenant, id))
  }

  add({ tenant, id }: ConversationRef, lastSeq: number, forMs = Number.POSITIVE_INFINITY): void {
    const skipped = { ref: { tenant, id }, seq: lastSeq, until: this.#now() + forMs }
    this.#skipped.set(conversationKey(tenant, id), skipped)
  }

  /** What a claim must leave alone: those that wait for a retry, and those whose log must grow first. */
  toSkip(): SkippedConversation[] {
    const now = this.#now()
    const left: SkippedConversation[] = []
    for (const { ref, until } of this.#aside.values()) {
      if (until > now && left.length < mostTold) left.push({ ...ref, seq: null })
    }
    for (const { ref, seq, until } of this.#skipped.values()) {
      const isWaiting = (this.#aside.get(conversationKey(ref.tenant, ref.id))?.until ?? 0) > now
      if (until <= now || isWaiting || left.length >= mostTold) continue
      left.push({ ...ref, seq: Number.isFinite(seq) ? seq : null })
    }
    return left
  }

  /** False once its log has grown or its time is over; then it is forgotten here. */
  has({ tenant, id }: ConversationRef, lastSeq: number): boolean {
    const key = conversationKey(tenant, id)
    if ((this.#aside.get(key)?.until ?? 0) > this.#now()) return true
    const skipped = this.#skipped.get(key)
    if (skipped && skipped.seq >= lastSeq && skipped.until > this.#now()) return true
    this.#skipped.delete(key)
    return false
  }

  /** A damaged row must not keep other conversations from being found. It is logged once. */
  addUnreadable(ref: ConversationRef, lastSeq: number, error: PerdureError): void {
    const isKnown = this.#skipped.has(conversationKey(ref.tenant, ref.id))
    if (!isKnown) this.#logger.error('a conversation cannot be worked on here', { ...ref, error })
    this.add(ref, lastSeq, unreadableMs)
  }

  /** What stopped the work on it; null when it is tried again. */
  setProblem({ tenant, id }: ConversationRef, problem: PerdureError | null): void {
    if (problem) this.#problems.set(conversationKey(tenant, id), problem)
    else this.#problems.delete(conversationKey(tenant, id))
  }

  /** Null once its log has grown: another node may have gone on with it. */
  problemOf({ tenant, id }: ConversationRef, lastSeq = 0): PerdureError | null {
    const key = conversationKey(tenant, id)
    return lastSeq > (this.#skipped.get(key)?.seq ?? Number.POSITIVE_INFINITY)
      ? null
      : (this.#problems.get(key) ?? null)
  }
}

/** Waiting does not help: the log must grow, or the code change. */
export function isHopeless(error: unknown): error is PerdureError {
  return PerdureError.isInstance(error) && (error.code.startsWith('event_') || hopelessCodes.has(error.code))
}

const hopelessCodes: ReadonlySet<string> = new Set(['flow_diverged', 'agent_missing', 'tool_missing'])
