import type { Clock } from '../../src/base/clock.ts'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import { callIdOfChild } from '../../src/log/child-call.ts'
import type { Change } from '../../src/store/change.ts'

/** A store that fails for a long time. */
export type Outage = {
  /** Whose commits it refuses: those of one conversation, of every child agent, or everything that is asked of it, as where a table is missing. */
  readonly of: string | 'children' | 'everything'
  /** It begins with the commit of an owner that follows so many of those it concerns. */
  readonly after: number
  /** Null: for good. */
  readonly forMs: number | null
  /** The store says that asking again is in vain. */
  readonly isLasting: boolean
}

/** How long a store that fails for good is looked at. */
const observedMs = 30_000

/**
 * What one process may ask of a store that fails, for each conversation: the pauses between two tries grow to 5 seconds. A try is a commit, or a claim and
 * what is read after it.
 */
const mostTries = (ms: number): number => 10 + ms / 4_000

/** Refuses what the plan says, and counts what is tried meanwhile. */
export class StoreOutage {
  readonly #outage: Outage | null
  readonly #clock: Clock
  readonly #tries = new Map<string, number>()
  #commits = 0
  #begunAt: number | null = null
  #isTold = false
  refused = 0

  constructor(outage: Outage | null, clock: Clock) {
    this.#outage = outage
    this.#clock = clock
  }

  get hasBegun(): boolean {
    return this.#begunAt !== null
  }

  get isOn(): boolean {
    return this.#begunAt !== null && this.#clock.now() < this.#begunAt + (this.#outage!.forMs ?? Infinity)
  }

  /** Whether that conversation is refused for good. */
  isForGood(id: string): boolean {
    return this.hasBegun && this.#outage?.forMs === null && this.concerns(id)
  }

  /** True once: it is over, or has been looked at for long enough. */
  hasJustEnded(): boolean {
    if (!this.hasBegun || this.#isTold || this.isObserved || (this.isOn && this.#outage?.forMs !== null)) return false
    this.#isTold = true
    return true
  }

  /** For good, and it has not been looked at for long enough. */
  get isObserved(): boolean {
    return this.#outage?.forMs === null && this.isOn && this.#clock.now() < this.#begunAt! + observedMs
  }

  /** How long a run may take until everything has ended: what was set aside for longer and longer waits as long again at most. */
  get patienceMs(): number {
    if (!this.#outage || !this.hasBegun) return 0
    return this.#outage.forMs === null ? observedMs : 2 * this.#outage.forMs
  }

  concerns(id: string): boolean {
    const of = this.#outage?.of
    return of === 'everything' || of === id || (of === 'children' && callIdOfChild(id) !== null)
  }

  /** Throws where the store does. */
  refuse(processName: string, name: string, args: readonly unknown[]): void {
    if (!this.#outage) return
    const [id, change] = args as [string, Change]
    const isOwners = name === 'commit' && change.epoch !== undefined
    if (isOwners && this.concerns(id) && ++this.#commits > this.#outage.after) this.#begunAt ??= this.#clock.now()
    if (!this.isOn || !(this.#outage.of === 'everything' || (name === 'commit' && this.concerns(id)))) return
    this.refused += 1
    // People and watchers come as often as they like: the engine's own tries are counted.
    const isTried = isOwners || name === 'claimLease' || name === 'claimDue' || name === 'keepLeases'
    const key = `${name} of ${isOwners || name === 'claimLease' ? id : 'all'} by ${processName}`
    if (isTried) this.#tries.set(key, (this.#tries.get(key) ?? 0) + 1)
    const problem = `the store fails${this.#outage.isLasting ? ' and will go on failing' : ''}; nothing was written`
    throw new StoreError(problem, { retryable: !this.#outage.isLasting })
  }

  /** What was tried more often than the pauses allow. */
  problems(leaseMs: number): string[] {
    const ms = this.#outage?.forMs ?? observedMs
    return [...this.#tries].flatMap(([key, tries]) => {
      // Leases are renewed on their own timer, as long as there are any.
      const most = key.startsWith('keepLeases') ? mostTries(ms) + (3 * ms) / leaseMs : mostTries(ms)
      return tries > most ? [`${tries} times in ${ms} ms, without a pause: ${key}`] : []
    })
  }
}
