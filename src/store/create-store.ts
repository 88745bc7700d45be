import { type Clock, systemClock } from '../clock/clock.ts'
import { StoreClosedError } from '../errors/store-errors.ts'
import { consoleLogger, type Logger } from '../logger/logger.ts'
import { checkDuration, checkId, checkWhole } from './checks.ts'
import type { Driver } from './driver.ts'
import { ExpiryLoop } from './expiry-loop.ts'
import { HeldLeases } from './held-leases.ts'
import { HintBus } from './hint-bus.ts'
import type { Store, TenantStore } from './store.ts'
import { createTenantStore } from './tenant-store.ts'

export type StoreOptions = {
  /** False: `putModelCall` does nothing. Default: true. */
  readonly audit?: boolean
  readonly logger?: Logger
}

/** What all handles of one store share. */
export type StoreContext = {
  /** The driver, refused once the store is closed. */
  readonly driver: Driver
  readonly audit: boolean
  readonly logger: Logger
  readonly hints: HintBus
  readonly leases: HeldLeases
  readonly expiry: ExpiryLoop
}

/** Builds a store over a driver: everything that is the same for all backends happens here. `clock` only times the polling. */
export function createStore(driver: Driver, options: StoreOptions = {}, clock: Clock = systemClock): Store {
  const gate = new Gate()
  const logger = options.logger ?? consoleLogger
  const hints = new HintBus((emit) => driver.watchOthers(emit), logger)
  const guarded = gate.guard(driver)
  const expiry = new ExpiryLoop({ driver: guarded, clock, logger, hints })
  const context: StoreContext = {
    driver: guarded,
    audit: options.audit ?? true,
    logger,
    hints,
    leases: new HeldLeases(),
    expiry,
  }
  const root = tenantStore(context, 'default')
  expiry.start()
  return {
    ...root,
    durable: driver.durable,
    forTenant: (tenant) => tenantStore(context, tenant),
    async dueWork(query) {
      checkWhole('limit', query.limit, 1)
      for (const agent of query.agents) checkId('agent', agent)
      return query.agents.length === 0 ? [] : guarded.dueWork(query)
    },
    async renewLeases(holder, ttlMs) {
      checkId('holder', holder)
      checkDuration('ttlMs', ttlMs)
      const before = context.leases.of(holder)
      return context.leases.lost(before, await guarded.renewLeases(holder, ttlMs))
    },
    onWake: (listener) => hints.listen(listener),
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

function tenantStore(context: StoreContext, tenant: string): TenantStore {
  checkId('tenant', tenant)
  return createTenantStore(context, tenant)
}

/** Counts what is under way, so that closing waits for it and nothing new begins. */
class Gate {
  #isShut = false
  #underWay = 0
  #waiting: (() => void)[] = []

  guard(driver: Driver): Driver {
    return new Proxy(driver, {
      get: (target, name) => {
        const member = target[name as keyof Driver]
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => this.#run(() => (member as (...args: unknown[]) => unknown).apply(target, args))
      },
    })
  }

  /** False when it was shut already. */
  shut(): boolean {
    const wasOpen = !this.#isShut
    this.#isShut = true
    return wasOpen
  }

  async idle(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async #run(work: () => unknown): Promise<unknown> {
    if (this.#isShut) throw new StoreClosedError()
    this.#underWay += 1
    try {
      return await work()
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }
}
