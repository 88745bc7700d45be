import { monotonic } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { ToolMissingError } from '../../base/errors/runtime-errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { type Logger, rateLimited } from '../../base/logger.ts'
import type { Agent } from '../../define/agent.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { WakeHint } from '../../store/store.ts'
import { workOnFlow } from '../flow/drive-flow.ts'
import type { AskAgent } from '../flow/running-ops.ts'
import type { Brought, GrantedLease, LeaseRequest, Moment, WorkStarter } from '../lease-request.ts'
import type { LogOwner } from '../log-owner.ts'
import type { EngineNode } from '../node.ts'
import { workOnConversation } from '../turn/drive.ts'
import { Claims, type TakenDue } from './claims.ts'
import { type HeldConversation, type HeldLease, LeaseKeeper, momentOf } from './lease-keeper.ts'
import { NodeDrain } from './node-heartbeat.ts'
import { releaseAllWithin, ShutdownSnapshots, waitForAll } from './shutdown.ts'
import { isHopeless, SkippedConversations } from './skipped-conversations.ts'
import { WorkSearch } from './work-search.ts'

/** A conversation this process works on. `lease` is null while it is asked for, `owner` while it is being loaded. */
type Taken = {
  readonly name: string
  lease: HeldLease | null
  owner: LogOwner | null
  done: Promise<unknown>
  hintedSeq: number
  /** A claim found it due before its release was complete. */
  isDueAgain: boolean
}

/** `hintedSeq`: the last seq that a hint named. `startedEpoch`: of the lease, given or claimed, that work was last begun under since the first of these commits. */
type Expected = { commits: number; hintedSeq: number; startedEpoch: number }

type Work = (lease: HeldLease, brought: Brought, entry: Taken) => Promise<void>

/** Finds conversations with something to do, takes them, and drives each until it can be released. */
export class Worker implements WorkStarter {
  readonly #node: EngineNode
  /** Null where the application keeps no snapshots. */
  readonly #shutdown: ShutdownSnapshots | null
  readonly #taken = new Map<string, Taken>()
  readonly #skipped: SkippedConversations
  /** Conversations with a commit of this process under way, whose hint starts no search. */
  readonly #expected = new Map<string, Expected>()
  readonly #leases: LeaseKeeper
  readonly #claims: Claims
  readonly #drain: NodeDrain
  readonly #search: WorkSearch
  readonly #tellOfFailure: Logger['error']
  /** Owners that only wait for their children. */
  #patient = 0
  #isClosed = false
  #isFull = false
  #askAgent: (session: ConversationRef) => AskAgent = () => () =>
    Promise.reject(new Error('the worker has not been started'))

  #onProblem: (ref: ConversationRef) => void = () => {}

  constructor(node: EngineNode) {
    this.#node = node
    // By a clock that never goes back: a conversation must not be skipped for longer when the time of day is put right.
    this.#skipped = new SkippedConversations(node.logger, () => monotonic(node.clock))
    this.#tellOfFailure = rateLimited(node.logger, () => node.clock.now(), 'error')
    this.#leases = new LeaseKeeper(node, {
      held: () => [...this.#taken.values()].flatMap(heldConversation),
      isBeingTaken: ({ tenant, id }) => {
        const key = conversationKey(tenant, id)
        return this.#expected.has(key) || this.#taken.get(key)?.lease === null
      },
      claiming: () => this.#search.claiming,
      onLost: (lease) => this.#lost(lease),
      onGrown: (hint) => this.hint(hint),
      onGivenBack: () => this.#look(),
    })
    this.#claims = new Claims(node, this.#leases, () => this.#look())
    this.#search = new WorkSearch(node, this.#claims, this.#skipped, {
      room: () => this.#room,
      held: () => [...this.#taken.values()].flatMap(heldConversation).map(({ lease }) => lease.ref),
      begin: (taken, hintedSeq) => this.#begin(taken, hintedSeq),
      onFull: () => void (this.#isFull = true),
    })
    this.#drain = new NodeDrain(node.clock, () => this.#taken.values())
    this.#shutdown = node.snapshots ? new ShutdownSnapshots(node) : null
  }

  /** `askAgent`: how the flows of a session send messages to agents. `onProblem`: the work on this one was stopped; see `problemOf`. */
  startPolling(
    askAgent: (session: ConversationRef) => AskAgent,
    onProblem: (ref: ConversationRef) => void = () => {},
  ): void {
    this.#askAgent = askAgent
    this.#onProblem = onProblem
    this.#leases.start()
    this.#search.start()
  }

  hint(hint: WakeHint): void {
    const { tenant, id, seq } = hint
    const key = conversationKey(tenant, id)
    const taken = this.#taken.get(key)
    const expected = this.#expected.get(key)
    if (!taken) this.#search.heard(hint)
    if (taken) {
      taken.hintedSeq = Math.max(taken.hintedSeq, seq)
      taken.owner?.hint(seq)
    } else if (expected) expected.hintedSeq = Math.max(expected.hintedSeq, seq)
    else this.#search.hinted(hint)
  }

  requestLease(ref: ConversationRef, name: string | null): LeaseRequest {
    const key = conversationKey(ref.tenant, ref.id)
    let askedAt: Moment | null = null
    return {
      ref,
      name,
      acquire: () => {
        const canTake = !this.#taken.has(key) && this.#room > 0 && !this.#isClosed && !this.#leases.isGivingBack(ref)
        const { turnLimits } = this.#node
        if (name === null || !canTake || turnLimits?.areOthersFirst(ref.tenant, name)) return {}
        askedAt = momentOf(this.#node.clock)
        const limited = turnLimits ? { limits: turnLimits.forClaim(ref.tenant, name) } : {}
        return { acquire: { holder: this.#node.holder, ttlMs: this.#node.leaseMs, suspects: false, ...limited } }
      },
      granted: ({ epoch, limited }, known = null) => {
        if (limited && name !== null) this.#node.turnLimits?.wasReached(limited, ref.tenant, name)
        return epoch === undefined || !askedAt ? null : { epoch, askedAt, known }
      },
      during: async (commit) => {
        const expected = this.#expected.get(key) ?? { commits: 0, hintedSeq: 0, startedEpoch: 0 }
        expected.commits += 1
        this.#expected.set(key, expected)
        try {
          return await commit()
        } catch (error) {
          this.#stopExpecting(key)
          // The commit may have been made, and its lease with it.
          if (askedAt) this.#leases.lookForStrays()
          else this.#leases.lookForPostponed()
          // Not taken under this name: the commit may have been refused because another agent has the conversation.
          if (name !== null) this.#look()
          throw error
        }
      },
    }
  }

  start({ ref, name }: LeaseRequest, lease: GrantedLease | null): void {
    const expected = this.#stopExpecting(conversationKey(ref.tenant, ref.id))
    this.#leases.lookForPostponed()
    // No work starts under a lease that was acknowledged late: a repeated commit may have begun and ended the work, or another process may have taken the conversation.
    const isOver = lease !== null && (lease.epoch <= expected.startedEpoch || !this.#leases.isCertain(lease))
    if (lease && !isOver) expected.startedEpoch = lease.epoch
    if (name === null) return
    // It waits for a slot, and others may be due longer.
    const waits = lease === null && this.#node.turnLimits?.isLimited(name)
    if (!waits) void this.take(ref, name, isOver ? null : lease, expected.hintedSeq)
    else if (!this.#taken.has(conversationKey(ref.tenant, ref.id))) this.#look()
  }

  #stopExpecting(key: string): Expected {
    const expected = this.#expected.get(key)!
    expected.commits -= 1
    if (expected.commits === 0) this.#expected.delete(key)
    return expected
  }

  /** Takes a conversation, unless another node has it, and works on it until it is released. `name`: of its agent or flow. Resolves with the error that stopped the work, if one did. */
  async take(ref: ConversationRef, name: string, lease: GrantedLease | null = null, hintedSeq = 0): Promise<unknown> {
    const key = conversationKey(ref.tenant, ref.id)
    const work = this.#workOf(ref, name)
    const taken = this.#taken.get(key)
    const isFull = this.#room <= 0
    if (taken || this.#isClosed || !work || isFull) {
      this.#isFull ||= isFull
      if (lease && lease.epoch !== taken?.lease?.epoch) await this.#release(ref, lease.epoch)
      if (!taken) this.#claims.leave(ref)
      return taken?.done
    }
    const given = lease ? this.#leases.holding(ref, lease.epoch, lease.askedAt) : null
    const entry: Taken = { name, lease: given, owner: null, done: Promise.resolve(), hintedSeq, isDueAgain: false }
    this.#taken.set(key, entry)
    this.#skipped.setProblem(ref, null)
    const letProcessEnd = this.#node.keepAlive.hold()
    entry.done = this.#holding(ref, entry, work, lease ?? { known: null }).finally(() => {
      this.#taken.delete(key)
      this.#leases.lookForPostponed()
      this.#claims.leave(ref)
      letProcessEnd()
      this.#node.channels.tidy(ref.tenant, ref.id)
    })
    const problem = await entry.done
    // An event was appended during the release, or there was no room for another conversation.
    const isSlotFree = this.#node.turnLimits?.isLimited(name) ?? false
    const hasMore = isSlotFree || this.#isFull || entry.isDueAgain || entry.hintedSeq > (entry.owner?.lastSeq ?? 0)
    this.#isFull = false
    if (hasMore && !this.#isClosed) this.#look()
    return problem
  }

  get #room(): number {
    return this.#drain.isOn ? 0 : this.#node.maxConcurrentTurns + this.#patient - this.#taken.size
  }

  allowOneMore(): () => void {
    this.#patient += 1
    this.#look()
    return () => void (this.#patient -= 1)
  }

  #workOf(ref: ConversationRef, name: string): Work | null {
    const agent = this.#node.agents.get(name)
    if (agent) return (lease, brought, entry) => this.#driveConversation(ref, agent, lease, brought, entry)
    const isFlow = this.#node.flows.sessionAgents().includes(name)
    return isFlow ? (lease, _, entry) => this.#driveFlow(ref, lease, entry) : null
  }

  /** Takes nothing more, and hands over what it still holds after `drainMs`; null: works again. */
  drain(drainMs: number | null): void {
    this.#search.setTaker(drainMs === null)
    if (drainMs !== null) return this.#drain.begin(drainMs)
    this.#drain.end()
    this.#look()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether the last successful search for work was many polling intervals ago. */
  isStuck(): boolean {
    return this.#search.isStuck()
  }

  loseLease({ tenant, id }: ConversationRef): void {
    this.#taken.get(conversationKey(tenant, id))?.owner?.loseLease()
  }

  /** Resolves when this process no longer works on it; at once if it does not. */
  async settled({ tenant, id }: ConversationRef): Promise<unknown> {
    return this.#taken.get(conversationKey(tenant, id))?.done
  }

  /** Why this process cannot work on it, where it has tried; null while it can, or has not. */
  problemOf(ref: ConversationRef, lastSeq = 0): PerdureError | null {
    const { owner } = this.#taken.get(conversationKey(ref.tenant, ref.id)) ?? {}
    return owner?.problem ?? this.#skipped.problemOf(ref, lastSeq)
  }

  /** Releases one conversation. This node skips it until its log grows. */
  async release(tenant: string, id: string): Promise<void> {
    const taken = this.#taken.get(conversationKey(tenant, id))
    if (!taken?.owner) return this.#shutdown?.take({ tenant, id })
    // What the owner records while it closes must not count as growth.
    this.#skipped.add({ tenant, id }, Number.POSITIVE_INFINITY)
    await taken.owner.close()
    await taken.done
    this.#skipped.add({ tenant, id }, taken.owner.lastSeq)
    await this.#shutdown?.take({ tenant, id })
  }

  /** Waits up to `drainMs` for running work, then closes the rest. Leases are renewed until all are released. */
  async close(drainMs: number): Promise<void> {
    this.#isClosed = true
    const searching = this.#search.close()
    const running = [...this.#taken.values()].map(({ done }) => done)
    await waitForAll(drainMs, [...running, searching, ...this.#node.backgroundTasks.running], this.#node.clock)
    await releaseAllWithin([...this.#taken.values()], this.#node)
    this.#leases.stop()
    await this.#shutdown?.takeAll()
  }

  async #holding(ref: ConversationRef, entry: Taken, work: Work, brought: Brought): Promise<unknown> {
    try {
      entry.lease ??= await this.#claims.take(ref, entry.name)
      if (entry.lease !== null) {
        const expected = this.#expected.get(conversationKey(ref.tenant, ref.id))
        if (expected) expected.startedEpoch = Math.max(expected.startedEpoch, entry.lease.epoch)
        failpoint('lease.after_acquire')
        await work(entry.lease, brought, entry)
      }
      this.#skipped.unskip(ref)
      return undefined
    } catch (error) {
      entry.owner?.loseLease()
      await this.#skip(ref, error)
      const { lease } = entry
      // From here the lease is a stray: if it cannot be released now, the next renewal finds it.
      entry.lease = null
      // Another node may have the code for it.
      if (lease) await this.#release(ref, lease.epoch)
      return error
    }
  }

  /** Must not reject. A lease that could not be released is found by the next renewal, which does not renew it. */
  async #release({ tenant, id }: ConversationRef, epoch: number): Promise<void> {
    try {
      await this.#node.store.forTenant(tenant).releaseLease(id, epoch)
    } catch (error) {
      this.#node.logger.warn('a lease could not be released; trying again', { tenant, id, error })
      this.#leases.lookForStrays()
    }
  }

  #lost(lease: HeldLease): void {
    const { ref, epoch } = lease
    const taken = this.#taken.get(conversationKey(ref.tenant, ref.id))
    if (taken?.lease !== lease || lease.isLost || taken.owner?.isLost) return
    const { logger } = this.#node
    logger.warn('a lease was lost: another node has taken the conversation, or it was deleted', { ...ref, epoch })
    lease.lose()
    taken.owner?.loseLease()
  }

  async #driveConversation(
    ref: ConversationRef,
    agent: Agent,
    lease: HeldLease,
    brought: Brought,
    entry: Taken,
  ): Promise<void> {
    const forMs = await workOnConversation(this.#node, this, { ref, agent, lease, ...brought }, (owner) => {
      this.#shutdown?.remember(ref, agent.name)
      this.#own(entry, owner)
    })
    if (forMs > 0) this.#skipped.add(ref, entry.owner?.lastSeq ?? 0, forMs)
  }

  async #driveFlow(ref: ConversationRef, lease: HeldLease, entry: Taken): Promise<void> {
    const dueInMs = await workOnFlow(this.#node, ref, lease, this.#askAgent(ref), async (owner) => {
      this.#own(entry, owner)
      if (this.#isClosed) await owner.close()
    })
    // Polling would find it too late.
    if (dueInMs !== null && dueInMs <= this.#node.pollMs) this.#node.clock.after(dueInMs, () => this.#look())
  }

  #own(entry: Taken, owner: LogOwner): void {
    entry.owner = owner
    owner.hint(entry.hintedSeq)
    if (entry.lease?.isLost) owner.loseLease()
    if (this.#drain.isOver) void owner.close()
  }

  /** Skips a conversation after an error: until its log grows where waiting does not help, as for a log that this version cannot fold; else for a while. */
  async #skip(ref: ConversationRef, error: unknown): Promise<void> {
    const { tenant, id } = ref
    const { logger, workingSets, store } = this.#node
    const isAway = PerdureError.isInstance(error) && error.retryable
    if (isAway) this.#node.warnOfStore('taking up a conversation failed; trying again', { tenant, id, error })
    else if (error instanceof ToolMissingError)
      logger.warn('a call is left to nodes that have its tool', { tenant, id, error })
    else if (isHopeless(error)) logger.error('a conversation cannot be worked on here', { tenant, id, error })
    else this.#tellOfFailure('a conversation cannot be worked on here', { tenant, id, error })
    workingSets.drop(tenant, id)
    try {
      if (isHopeless(error)) {
        this.#skipped.setProblem({ tenant, id }, error)
        this.#onProblem(ref)
        const forMs = error instanceof ToolMissingError ? error.waitMs : Number.POSITIVE_INFINITY
        this.#skipped.add({ tenant, id }, (await store.forTenant(tenant).getConversation(id))?.lastSeq ?? 0, forMs)
      } else this.#skipped.retryLater({ tenant, id }, error)
    } catch (failure) {
      logger.warn('a conversation that cannot be worked on could not be read', { tenant, id, error: failure })
    }
  }

  #look(): void {
    void this.#search.look()
  }

  /** Resolves when the conversation is taken, or its lease was released because this process cannot work on it now. */
  async #begin({ tenant, id, agent, lastSeq, problem, ...granted }: TakenDue, hintedSeq: number): Promise<void> {
    const { epoch } = granted
    const ref = { tenant, id }
    if (problem) this.#skipped.addUnreadable(ref, lastSeq, problem)
    const taken = this.#taken.get(conversationKey(tenant, id))
    const isUnusable = taken || problem || this.#isClosed || this.#room <= 0 || this.#skipped.has(ref, lastSeq)
    if (!isUnusable) {
      this.take(ref, agent, { ...granted, known: null }, hintedSeq).catch((error) =>
        this.#node.logger.error('working on a conversation failed', { ...ref, error }),
      )
      return
    }
    // This node is releasing it, and it is due again.
    if (taken) taken.isDueAgain = true
    if (this.#room <= 0) this.#isFull = true
    if (taken?.lease?.epoch !== epoch) await this.#release(ref, epoch)
    if (!taken) this.#claims.leave(ref)
  }
}

/** Empty once the lease is lost: there is nothing to renew. */
function heldConversation({ lease, owner, hintedSeq }: Taken): HeldConversation[] {
  if (!lease || lease.isLost || owner?.isLost) return []
  return [{ lease, seq: Math.max(owner?.lastSeq ?? 0, hintedSeq) }]
}
