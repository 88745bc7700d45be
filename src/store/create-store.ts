import { type Clock, systemClock } from '../base/clock.ts'
import { currentBuild } from '../base/current-build.ts'
import { InvalidArgumentError, StoreClosedError } from '../base/errors/store-errors.ts'
import type { Logger } from '../base/logger.ts'
import { safeLogger } from '../base/redact/redacting-logger.ts'
import { checkedAccounts } from './accounts.ts'
import { checkDuration, checkHolder, checkId, readKnownLeases, readWatchedLogs } from './checks.ts'
import { dueClaims } from './claim-due.ts'
import type { Driver } from './driver.ts'
import { ExpiryLoop, HintBus } from './expiry-loop.ts'
import { checkedJobs } from './jobs.ts'
import { HeldLeases, type KnownLease, type LeaseNews } from './lease.ts'
import { checkedNodes } from './nodes.ts'
import { checkedOutbox } from './outbox.ts'
import { readDueWork } from './read-limits.ts'
import { type ConversationRef, conversationKey, type UnreadableColumn } from './records.ts'
import { checkedSteering } from './steering.ts'
import { logsPerStatement, type Store, type TenantStore, type WorkerHere } from './store.ts'
import { createTenantStore } from './tenant-store.ts'
import type { Upkeep } from './upkeep.ts'

/** Options of every store. */
export type StoreOptions = {
  /** False: `putModelCall` does nothing. Default: true. */
  readonly audit?: boolean
  /**
   * False: calls past their deadline are left to the other processes that have the store open, so that reading the store changes nothing. For maintenance; a
   * store that runs conversations must expire calls. Default: true, except during the build of a framework (see `holdRuntime`), which must change nothing.
   */
  readonly expiry?: boolean
  readonly logger?: Logger
}

/** Shared by all handles of one store. */
export type StoreContext = {
  /** The driver. Its methods are refused once the store is closed. */
  readonly driver: Driver
  readonly audit: boolean
  readonly logger: Logger
  readonly hints: HintBus
  readonly leases: HeldLeases
  readonly expiry: ExpiryLoop
  readonly damage: DamageLog
}

/** Builds a store over a driver. Everything that is the same for all backends happens here. `clock` only times the polling. */
export function createStore(driver: Driver, options: StoreOptions = {}, clock: Clock = systemClock): Store {
  const gate = new Gate()
  const logger = safeLogger(options.logger)
  const hints = new HintBus((emit, onMissed) => driver.watchOthers(emit, onMissed), logger)
  const guarded = gate.guard(driver)
  const expiry = new ExpiryLoop({ driver: guarded, clock, logger, hints })
  const context: StoreContext = {
    driver: guarded,
    audit: options.audit ?? true,
    logger,
    hints,
    leases: new HeldLeases(),
    expiry,
    damage: new DamageLog(logger),
  }
  const handles = new TenantHandles(context)

  async function keepLeases(holder: string, ttlMs: number, input: readonly KnownLease[]): Promise<LeaseNews> {
    checkHolder(holder)
    checkDuration('ttlMs', ttlMs)
    const known = readKnownLeases(input)
    const { lost, ...news } = await guarded.renewLeases(holder, ttlMs, context.leases.withoutReleased(known))
    const lostLeases = context.leases.lost(lost)
    for (const lease of lostLeases) context.leases.remove(lease)
    return { ...news, lost: lostLeases }
  }

  if (options.expiry ?? currentBuild() === null) expiry.start()
  return {
    ...handles.of('default'),
    durable: driver.durable,
    ...(driver.upkeep ? { upkeep: watchedUpkeep(gate.guard(driver.upkeep), { hints, expiry }) } : {}),
    ...(driver.jobs ? { jobs: checkedJobs(gate.guard(driver.jobs)) } : {}),
    ...(driver.outbox ? { outbox: checkedOutbox(gate.guard(driver.outbox)) } : {}),
    ...(driver.accounts ? { accounts: checkedAccounts(gate.guard(driver.accounts)) } : {}),
    ...(driver.liveBus ? { liveBus: driver.liveBus } : {}),
    ...(driver.steering ? { steering: checkedSteering(gate.guard(driver.steering)) } : {}),
    ...(driver.nodes ? { nodes: checkedNodes(gate.guard(driver.nodes)) } : {}),
    forTenant: (tenant) => handles.of(tenant),
    async dueWork(input) {
      const query = readDueWork(input)
      return query.agents.length === 0 ? [] : guarded.dueWork(query)
    },
    claimDue: dueClaims(guarded, context.leases),
    async renewLeases(holder, ttlMs) {
      const { lost } = await keepLeases(holder, ttlMs, context.leases.of(holder))
      return lost.map(({ tenant, id }) => ({ tenant, id }))
    },
    keepLeases,
    ...(driver.announce ? { announce: (worker: WorkerHere) => driver.announce!(worker) } : {}),
    async movedLogs(input) {
      const watched = readWatchedLogs(input)
      const moved: ConversationRef[] = []
      for (let from = 0; from < watched.length; from += logsPerStatement) {
        const batch = watched.slice(from, from + logsPerStatement)
        for (const place of await guarded.movedLogs(batch)) moved.push(refOf(batch[place]!))
      }
      return moved
    },
    onWake(listener, onMissed) {
      if (typeof listener !== 'function') throw new InvalidArgumentError('listener', 'must be a function')
      if (typeof (onMissed ?? listener) !== 'function') throw new InvalidArgumentError('onMissed', 'must be a function')
      return hints.listen(listener, onMissed)
    },
    async deleteTenant(tenant) {
      checkId('tenant', tenant)
      return guarded.deleteTenant(tenant)
    },
    async close() {
      if (!gate.shut()) return gate.idle()
      expiry.stop()
      hints.close()
      await gate.idle()
      await driver.close()
    },
  }
}

function refOf({ tenant, id }: ConversationRef): ConversationRef {
  return { tenant, id }
}

const keptHandles = 100

/** Handles have no state of their own. The most recent ones are cached because each verb asks for one. */
class TenantHandles {
  readonly #context: StoreContext
  readonly #handles = new Map<string, TenantStore>()

  constructor(context: StoreContext) {
    this.#context = context
  }

  of(tenant: string): TenantStore {
    const known = this.#handles.get(tenant)
    if (known) return known
    checkId('tenant', tenant)
    const handle = createTenantStore(this.#context, tenant)
    if (this.#handles.size === keptHandles) this.#handles.clear()
    this.#handles.set(tenant, handle)
    return handle
  }
}

type Method = (this: object, ...args: unknown[]) => unknown

/** Counts running operations, so that closing waits for them and new ones are refused. */
class Gate {
  #isShut = false
  #underWay = 0
  #waiting: (() => void)[] = []

  guard<T extends object>(whole: T): T {
    const guarded = new Map<PropertyKey, unknown>()
    return new Proxy(whole, {
      get: (target, name) => {
        const member = guarded.get(name) ?? target[name as keyof T]
        if (typeof member !== 'function' || guarded.has(name)) return member
        const method = (...args: unknown[]) => this.#run(target, member as Method, args)
        guarded.set(name, method)
        return method
      },
    })
  }

  /** False when it was already shut. */
  shut(): boolean {
    const wasOpen = !this.#isShut
    this.#isShut = true
    return wasOpen
  }

  async idle(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async #run(target: object, method: Method, args: unknown[]): Promise<unknown> {
    if (this.#isShut) throw new StoreClosedError()
    this.#underWay += 1
    try {
      return await method.apply(target, args)
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }
}

const remembered = 1_000

/** Logs each damaged conversation once, however often it is listed. */
export class DamageLog {
  readonly #logger: Logger
  readonly #logged = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  tell(tenant: string, id: string, columns: readonly UnreadableColumn[]): void {
    const key = conversationKey(tenant, id)
    if (this.#logged.has(key)) return
    if (this.#logged.size === remembered) this.#logged.clear()
    this.#logged.add(key)
    this.#logger.error('the row of a conversation is damaged; run perdure doctor', { tenant, id, columns })
  }
}

/** Sends wake hints in this process for what maintenance restores. */
function watchedUpkeep(upkeep: Upkeep, { hints, expiry }: { hints: HintBus; expiry: ExpiryLoop }): Upkeep {
  return {
    snapshot: (work) => upkeep.snapshot(work),
    restoreBlob: (tenant, blob) => upkeep.restoreBlob(tenant, blob),
    restoreSnapshot: (tenant, id, snapshot) => upkeep.restoreSnapshot(tenant, id, snapshot),
    restoreTombstone: (tenant, tombstone) => upkeep.restoreTombstone(tenant, tombstone),
    collect: (request) => upkeep.collect(request),
    schema: () => upkeep.schema(),
    migrate: () => upkeep.migrate(),
    ...(upkeep.compact ? { compact: () => upkeep.compact!() } : {}),
    ...(upkeep.figures ? { figures: (windowMs: number) => upkeep.figures!(windowMs) } : {}),
    async restoreConversation(tenant, conversation, rows) {
      const outcome = await upkeep.restoreConversation(tenant, conversation, rows)
      if (outcome.type === 'ok') {
        hints.emit({ tenant, id: conversation.id, seq: outcome.seq })
        expiry.within(0)
      }
      return outcome
    },
    async rebuild(tenant, id, rebuilt) {
      const outcome = await upkeep.rebuild(tenant, id, rebuilt)
      if (outcome === 'ok') {
        hints.emit({ tenant, id, seq: rebuilt.expected.lastSeq })
        expiry.within(0)
      }
      return outcome
    },
  }
}
