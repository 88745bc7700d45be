import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { StoreError } from '../../base/errors/store-errors.ts'
import type { PreparedChange } from '../driver.ts'
import type { BatchOutcome } from './commit-change.ts'
import type { Addressed } from './commit-query.ts'

export type BatcherOptions = {
  /** Commits all changes in one transaction. An ambiguous `StoreError` means that they may have been committed. */
  readonly send: (batch: readonly Addressed[]) => Promise<BatchOutcome[]>
  /** How many batches run at once. */
  readonly lanes: number
  readonly maxChanges: number
}

type Waiting = Addressed & {
  readonly resolve: (outcome: BatchOutcome) => void
  readonly reject: (error: unknown) => void
  /** Set when the answer to an earlier attempt was lost: from then on only an answer can say what happened. */
  lost: unknown
  attempts: number
}

/** Keeps a few large events from becoming one statement of many megabytes. */
const maxBatchBytes = 2 * 1024 * 1024
const resendDelaysMs = [20, 60, 150, 300, 500, 800]

/**
 * Collects the commits of one tick, and those that come while all lanes are busy, into one statement each. A lone commit is sent at the end of its tick; under
 * load the batches grow.
 */
export class CommitBatcher {
  readonly #options: BatcherOptions
  #queue: Waiting[] = []
  #busyLanes = 0
  #isScheduled = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  commit(addressed: Addressed): Promise<BatchOutcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...addressed, resolve, reject, lost: null, attempts: 0 })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#fillLanes()
    })
  }

  #fillLanes(): void {
    while (this.#queue.length > 0 && this.#busyLanes < this.#options.lanes) {
      this.#busyLanes += 1
      void this.#drive(this.#takeBatch())
    }
  }

  async #drive(batch: Waiting[]): Promise<void> {
    await this.#send(batch)
    this.#busyLanes -= 1
    this.#schedule()
  }

  #takeBatch(): Waiting[] {
    let count = 0
    let bytes = 0
    while (count < this.#queue.length && count < this.#options.maxChanges && bytes < maxBatchBytes) {
      for (const { content } of this.#queue[count]!.change.events) bytes += content.length
      count += 1
    }
    return this.#queue.splice(0, count)
  }

  /** Must not reject. */
  async #send(batch: Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#options.send(batch)
      batch.forEach((waiting, index) => {
        waiting.resolve(outcomes[index]!)
      })
    } catch (error) {
      if (isAmbiguous(error)) for (const waiting of batch) this.#settleLost(waiting, error)
      else if (batch.length > 1 && isForGood(error)) await this.#sendEachAlone(batch)
      else for (const { reject, lost } of batch) reject(lost ?? error)
    }
  }

  /** The statement failed and wrote nothing; the change that caused it must not fail the others. */
  async #sendEachAlone(batch: readonly Waiting[]): Promise<void> {
    for (const waiting of batch) await this.#send([waiting])
  }

  /** A change that is safe to repeat is sent again, and its answer is that of the first time. */
  #settleLost(waiting: Waiting, error: unknown): void {
    const delayMs = resendDelaysMs[waiting.attempts]
    waiting.lost = error
    waiting.attempts += 1
    if (delayMs === undefined || !isRepeatable(waiting.change)) {
      waiting.reject(error)
      return
    }
    void sleep(delayMs).then(() => {
      this.#queue.push(waiting)
      this.#schedule()
    })
  }
}

function isAmbiguous(error: unknown): boolean {
  return error instanceof StoreError && error.ambiguous
}

/** The same attempt would fail again, so a change in the batch is the cause. */
function isForGood(error: unknown): boolean {
  return !(PerdureError.isInstance(error) && error.retryable)
}

/** Whether sending it twice applies it once: because of its key, or because it only sets attributes to fixed values. */
export function isRepeatable(change: PreparedChange): boolean {
  if (change.key !== null) return true
  const isConditional = change.epoch !== null || change.expectedSeq !== null
  return !isConditional && change.events.length + change.calls.length + change.resolve.length === 0
}
