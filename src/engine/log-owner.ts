import { Signal } from '../base/clock.ts'
import type { PerdureError } from '../base/errors/perdure-error.ts'
import { type Change, type CommitResult, markOwnerChange } from '../store/change.ts'
import type { Lease } from '../store/lease.ts'
import { LogReading } from '../store/log-pages.ts'
import type { ConversationRef } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'
import type { EngineNode } from './node.ts'

/** What holding a log needs of the node. */
export type LogContext = {
  readonly node: Pick<EngineNode, 'clock' | 'logger' | 'warnOfStore'>
  readonly ref: ConversationRef
  /** The store of the log's tenant. */
  readonly store: TenantStore
}

/** `failed`: the store failed, and the commit may have been made. */
type CommitOutcome = CommitResult | { readonly ok: false; readonly conflict: 'failed'; readonly error: unknown }

/**
 * Holds the lease of one log, for turns and for flows: notices what others append, commits under the epoch of the lease, and finds out when
 * the lease is lost. What runs on the log is for its subclasses.
 */
export abstract class LogOwner {
  readonly #context: LogContext
  readonly #kind: 'conversation' | 'session'
  #isLost = false
  protected readonly lease: Lease
  protected readonly reading: LogReading
  /** Set when the loop has something to look at. */
  protected readonly signal = new Signal()

  constructor(context: LogContext, lease: Lease, kind: 'conversation' | 'session') {
    this.#context = context
    this.#kind = kind
    this.lease = lease
    this.reading = new LogReading(context.node.clock)
  }

  /** The last `seq` of the log that this owner knows. */
  abstract get lastSeq(): number

  /** Lets go in good order, because the process ends. */
  abstract close(): Promise<void>

  /** Stops what runs on the log. */
  protected abstract stopAll(): void

  /** True once nothing is written under the lease any more. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Why it does not get on, while the store fails it. */
  get problem(): PerdureError | null {
    return this.reading.problem
  }

  /** The log has grown to this seq. The loop reads it before it decides again. */
  hint(seq: number): void {
    this.reading.hint(seq)
    if (seq > this.lastSeq) this.signal.set()
  }

  /** Another node has the lease, or the log was deleted. Nothing more may be written; running work is aborted. */
  loseLease(): void {
    this.#isLost = true
    this.stopAll()
    this.signal.set()
  }

  /** Runs something that needs the store. False if the store failed; the caller tries again, on the log as it is then. */
  async attempt(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      this.storeFailed(error, what)
      return false
    }
  }

  /** Commits under the lease, if the log still ends at the known place. After a refused commit, the log is read again. */
  protected async commitUnderLease(change: Omit<Change, 'expectedSeq' | 'epoch'>): Promise<CommitOutcome> {
    const { store, ref } = this.#context
    const { epoch } = this.lease
    let result: CommitResult
    try {
      result = await store.commit(ref.id, markOwnerChange({ ...change, expectedSeq: this.lastSeq, epoch }))
    } catch (error) {
      return { ok: false, conflict: 'failed', error }
    }
    if (result.ok) {
      this.reading.hasWritten()
      return result
    }
    if (result.conflict === 'epoch') this.#loseToAnother()
    this.reading.demand()
    return result
  }

  /** Asks the store to confirm the lease, by a commit without events. If another node has it, the lease is lost. */
  protected async confirmLease(): Promise<CommitResult> {
    const { store, ref } = this.#context
    const result = await store.commit(ref.id, { events: [], epoch: this.lease.epoch })
    if (!result.ok) this.#loseToAnother()
    return result
  }

  /** Has the log read again, after a pause that grows with each failure. */
  protected storeFailed(error: unknown, what: string): void {
    const { node, ref } = this.#context
    this.reading.hasFailed(error)
    node.warnOfStore(`${what}; trying again`, { ...ref, error, waitMs: this.reading.waitMs })
  }

  #loseToAnother(): void {
    const { node, ref } = this.#context
    if (!this.#isLost) node.logger.warn(`a lease was lost: another node has taken the ${this.#kind}`, ref)
    this.lease.lose()
    this.loseLease()
  }
}
