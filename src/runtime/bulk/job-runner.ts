import { pause } from '../../base/abort.ts'
import { withTimeout } from '../../base/clock.ts'
import type { ErrorCode } from '../../base/errors/codes.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { failpoint } from '../../base/failpoint.ts'
import { errorText } from '../../base/redact/redactor.ts'
import { restoredScope, type Scope } from '../../define/scope.ts'
import { forkerOf, isCopied } from '../../engine/scopes.ts'
import type { NewEvent } from '../../log/events.ts'
import { openTurn, queuedTurns, type TurnState } from '../../log/state.ts'
import {
  type ClaimedJob,
  type JobCursor,
  type JobProgress,
  type Jobs,
  mostScanned,
  type StoredJob,
} from '../../store/jobs.ts'
import type { TenantStore } from '../../store/store.ts'
import { eventAt } from '../answer-call.ts'
import { cancelQuarantined } from '../cancel-quarantined.ts'
import { conversationHandle } from '../conversation-handle.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { asJson, type BulkReport, reportOf, type SkipReason, specOf, storeFilterOf } from './bulk-request.ts'

/** How many conversations are worked on at once, and the most that run on after a stop. */
const batchSize = 8
/** If a batch takes longer than this many leases of a conversation, two processes may do it at once, which changes nothing. */
const leasesPerBatch = 3
/** How often this process looks for jobs that another process has started or released, in polls of the worker. */
const pollsPerLook = 20
/** If this many processes in a row let the lease of a job lapse, the job has probably killed them. */
const mostLapses = 5
const mostFailures = 100
const longestError = 500
const triesPerItem = 3

type Counts = Pick<JobProgress, 'done' | 'skipped' | 'failed' | 'cursor'> & { readonly report: BulkReport }

/**
 * Works on bulk jobs, one at a time, in batches. Progress is recorded after each batch: after a crash another process repeats that batch, and repeating changes
 * nothing. One job of a store is worked on by one process at a time.
 */
export class JobRunner {
  readonly #runtime: RuntimeContext
  readonly #jobs: Jobs
  readonly #closing = new AbortController()
  #cancelTimer: (() => void) | null = null
  #running: Promise<void> | null = null
  #looksAgain = false

  constructor(runtime: RuntimeContext, jobs: Jobs) {
    this.#runtime = runtime
    this.#jobs = jobs
  }

  /** Looks for jobs from time to time. The first time is not now: most processes have none. */
  start(): void {
    const { clock, pollMs } = this.#runtime.node
    if (this.#closing.signal.aborted) return
    this.#cancelTimer = clock.after(pollMs * pollsPerLook, () => {
      this.look()
      this.start()
    })
  }

  /** A job was started here. */
  look(): void {
    this.#looksAgain = true
    if (this.#running || this.#closing.signal.aborted) return
    const letProcessEnd = this.#runtime.node.keepAlive.hold()
    this.#running = this.#work().finally(() => {
      this.#running = null
      letProcessEnd()
    })
  }

  /** Gives its job back after the batch under way. */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort()
    this.#cancelTimer?.()
    const running = this.#running ?? Promise.resolve()
    await withTimeout(running, drainMs, this.#runtime.node.clock, () => {})
  }

  async #work(): Promise<void> {
    while (this.#looksAgain && !this.#closing.signal.aborted) {
      this.#looksAgain = false
      try {
        for (let job = await this.#claim(); job; job = await this.#claim()) await this.#run(job)
      } catch (error) {
        this.#runtime.node.warnOfStore('a bulk job was interrupted; it continues later', { error })
      }
    }
  }

  get #leaseMs(): number {
    return leasesPerBatch * this.#runtime.node.leaseMs
  }

  async #claim(): Promise<ClaimedJob | null> {
    return this.#closing.signal.aborted ? null : this.#jobs.claim(this.#leaseMs)
  }

  async #run(job: ClaimedJob): Promise<void> {
    const { id, token, createdAt, tenant, action } = job
    const { filter: given, perSecond } = specOf(job)
    const filter = storeFilterOf(action, given, createdAt)
    // Longer than the pause after a batch.
    const leaseMs = this.#leaseMs + Math.ceil((batchSize * 1_000) / perSecond)
    let counts: Counts = { ...job, report: reportOf(job) }
    const settle = (more: Pick<JobProgress, 'leaseMs' | 'end'>) => {
      const { done, skipped, failed, cursor, report } = counts
      return this.#jobs.settle(id, token, { done, skipped, failed, cursor, report: asJson(report), ...more })
    }
    if (job.lapses >= mostLapses) {
      const problem = `${mostLapses} processes in a row ended or hung while they worked on it. Look at the conversations after its last progress, then start another job.`
      counts = { ...counts, report: { ...counts.report, problem } }
      await settle({ leaseMs: null, end: 'stopped' })
      return
    }
    /** Whether the job continues here: false if another process has it or a person has stopped it. */
    const recorded = async (): Promise<boolean> => {
      const told = await settle({ leaseMs })
      if (told === 'stopping') await settle({ leaseMs: null, end: 'stopped' })
      return told === 'ok'
    }
    if (job.state === 'stopping' && !(await recorded())) return
    for (;;) {
      const rows = await this.#jobs.scan({ tenant, filter, at: createdAt, after: counts.cursor, limit: mostScanned })
      const matching = rows.filter(({ matches }) => matches)
      for (let from = 0; from < matching.length; from += batchSize) {
        if (this.#closing.signal.aborted) {
          await settle({ leaseMs: null })
          return
        }
        const begunAt = performance.now()
        counts = await this.#batch(job, matching.slice(from, from + batchSize), counts)
        failpoint('bulk.before_settle')
        // Durable from here, once settled: these conversations are not looked at again.
        if (!(await recorded())) return
        await this.#pace(begunAt, perSecond)
      }
      const last = rows.at(-1)
      if (last) counts = { ...counts, cursor: placeOf(last) }
      if (rows.length < mostScanned) {
        await settle({ leaseMs: null, end: 'done' })
        return
      }
      if (!(await recorded())) return
    }
  }

  async #batch(job: ClaimedJob, batch: readonly JobCursor[], counts: Counts): Promise<Counts> {
    const outcomes = await Promise.all(batch.map(({ id }) => this.#act(job, id)))
    let { done, skipped, failed } = counts
    const skippedFor: Record<string, number> = { ...counts.report.skippedFor }
    const failures = [...counts.report.failures]
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.type === 'done') done += 1
      else if (outcome.type === 'skipped') {
        skipped += 1
        skippedFor[outcome.reason] = (skippedFor[outcome.reason] ?? 0) + 1
      } else {
        failed += 1
        failures.push({ id: batch[index]!.id, error: outcome.error })
      }
    }
    const report = { ...counts.report, skippedFor, failures: failures.slice(-mostFailures) }
    return { done, skipped, failed, report, cursor: placeOf(batch.at(-1)!) }
  }

  /** Never rejects. A store that fails for longer fails to record this, too, and then the batch is repeated. */
  async #act(job: ClaimedJob, id: string): Promise<ItemOutcome | { readonly type: 'failed'; readonly error: string }> {
    const { redact, clock } = this.#runtime.node
    for (let tries = 1; ; tries++) {
      try {
        return await actOn(this.#runtime, job, id)
      } catch (error) {
        const isWorthAnother = PerdureError.isInstance(error) && error.retryable && tries < triesPerItem
        if (!isWorthAnother) return { type: 'failed', error: redact(errorText(error)).slice(0, longestError) }
        await pause(200 * tries, { clock })
      }
    }
  }

  async #pace(begunAt: number, perSecond: number): Promise<void> {
    const leftMs = (batchSize * 1_000) / perSecond - (performance.now() - begunAt)
    if (leftMs >= 1) await pause(leftMs, { clock: this.#runtime.node.clock, signal: this.#closing.signal })
  }
}

function placeOf({ createdAt, id }: JobCursor): JobCursor {
  return { createdAt, id }
}

/** What became of one conversation. */
type ItemOutcome = { readonly type: 'done' } | { readonly type: 'skipped'; readonly reason: SkipReason }

const done: ItemOutcome = { type: 'done' }
const skipped = (reason: SkipReason): ItemOutcome => ({ type: 'skipped', reason })

/**
 * Does what a job is for to one conversation. Repeating it changes nothing and gives the same outcome: what it commits has a key that derives from the job. The log
 * decides, because the row that was matched may be older. Rejects where the conversation or the store fails.
 */
async function actOn(runtime: RuntimeContext, job: StoredJob, id: string): Promise<ItemOutcome> {
  const store = runtime.node.store.forTenant(job.tenant)
  try {
    const outcome = await actions[job.action]({ runtime, job, id, store, key: `job/${job.id}` })
    if (outcome.type === 'done' || job.action === 'unquarantine') return outcome
    // The process that did it may have died before it said so, and the log has changed since.
    return (await isKnown(store, id, `job/${job.id}`)) ? done : outcome
  } catch (error) {
    const reason = PerdureError.isInstance(error) ? reasons[error.code] : undefined
    if (!reason) throw error
    return reason !== 'gone' && (await isKnown(store, id, `job/${job.id}`)) ? done : skipped(reason)
  }
}

type Item = {
  readonly runtime: RuntimeContext
  readonly job: StoredJob
  readonly id: string
  readonly store: TenantStore
  readonly key: string
}

const actions: Readonly<Record<StoredJob['action'], (item: Item) => Promise<ItemOutcome>>> = {
  async cancel({ runtime, job, id, store, key }) {
    const { state } = await runtime.node.workingSets.load(store, job.tenant, id)
    const open = openTurn(state)
    const all = [...(open ? [open] : []), ...queuedTurns(state)]
    const turns = all.filter(({ cancel }) => !cancel)
    if (turns.length === 0) {
      // The process that asked may have died before it ended them.
      if (all.length > 0) await cancelQuarantined(runtime, { tenant: job.tenant, id })
      return skipped('not_open')
    }
    const events: NewEvent[] = []
    for (const { turnId, ...turn } of turns)
      if ((await openingOf(store, id, turn)).at <= job.createdAt)
        events.push({ type: 'cancel_requested', content: { turnId, who: job.who } })
    if (events.length === 0) return skipped('began_later')
    failpoint('bulk.before_commit')
    await store.commit(id, { events, key })
    // Durable from here: the owner of the conversation ends the turns.
    failpoint('bulk.after_commit')
    await cancelQuarantined(runtime, { tenant: job.tenant, id })
    return done
  },
  async retry({ runtime, job, id, store, key }) {
    const { filter, force } = specOf(job)
    const { state } = await runtime.node.workingSets.load(store, job.tenant, id)
    if (openTurn(state) || queuedTurns(state).length > 0) return skipped('busy')
    const turn = state.turns.findLast(({ opened }) => opened)
    if (!turn?.end || !(filter.ended ?? ['failed']).includes(turn.end.status)) return skipped('ended_otherwise')
    const opening = await openingOf(store, id, turn)
    if (opening.at > job.createdAt) return skipped('began_later')
    // A job adds the name of an operator, not an identity: with the rights of another, what a user wrote could do more than the user may.
    const { tenant } = job
    const forker = await forkerOf(store, id)
    const { who } = isCopied(turn, forker) ? forker : opening
    const identity = { tenant, who, scope: restoredScope(tenant, who) as Scope }
    await conversationHandle(runtime, identity, id, null).retry(turn.turnId, { key, force })
    return done
  },
  async unquarantine({ job, id, store }) {
    const quarantine = (await store.getConversation(id))?.quarantine
    if (!quarantine) return skipped('not_quarantined')
    if (quarantine.at > job.createdAt) return skipped('began_later')
    return (await store.unquarantine(id)) ? done : skipped('not_quarantined')
  },
}

const reasons: Partial<Record<ErrorCode, SkipReason>> = {
  conversation_busy: 'busy',
  conversation_not_found: 'gone',
  force_needed: 'force_needed',
  turn_superseded: 'replaced',
  turn_not_found: 'replaced',
}

type Opening = { readonly at: number; readonly who: string }

/** When the first message of the turn was committed, by the store's clock, and by whom. A state that is trimmed may lack it. */
async function openingOf(
  store: TenantStore,
  id: string,
  { items, firstSeq }: Pick<TurnState, 'items' | 'firstSeq'>,
): Promise<Opening> {
  const first = items.find((item) => item.type === 'user')
  if (first?.seq === firstSeq) return first
  const event = await eventAt(store, id, firstSeq)
  return { at: event?.at ?? 0, who: event?.type === 'user_msg' ? event.content.who : 'anonymous' }
}

/** Whether this job has committed to the conversation. The store reports a known key before it checks anything else. */
async function isKnown(store: TenantStore, id: string, key: string): Promise<boolean> {
  try {
    return (await store.commit(id, { events: [], key, expectedSeq: Number.MAX_SAFE_INTEGER })).ok
  } catch (error) {
    const code = PerdureError.isInstance(error) ? error.code : null
    // Its commit had a digest.
    if (code === 'key_reused') return true
    if (code === 'conversation_not_found') return false
    throw error
  }
}
