import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError } from '../../src/base/errors/perdure-error.ts'
import type { Json } from '../../src/base/json.ts'
import type { Store, TenantStore, WakeHint } from '../../src/store/store.ts'
import type { Backend } from './backends.ts'
import { difference } from './compare/difference.ts'
import { show } from './compare/show.ts'
import { Span } from './compare/span.ts'
import { dueCalls, expire } from './contract/expiry.ts'
import { Holdings } from './contract/leases.ts'
import { callRecord, conversationRecord } from './contract/queries.ts'
import { type Call, Contract, Refused } from './contract/state.ts'
import { isHostile } from './generate/values.ts'
import type { Tally } from './tally.ts'

/** A store under test and the reference for what it must hold, side by side. */
export class World {
  readonly contract = new Contract()
  readonly holdings: Holdings[] = []
  readonly stores: Store[] = []
  readonly hints: WakeHint[] = []
  /** The longest each log has ever been: a hint may come after what it tells of was deleted. */
  readonly longest = new Map<string, number>()
  readonly tally: Tally
  readonly backend: Backend
  /** For ids that must be new. */
  counter = 0

  constructor(backend: Backend, tally: Tally) {
    this.backend = backend
    this.tally = tally
    for (let index = 0; index < backend.instances; index++) this.#open(index)
  }

  handle(tenant: string, via: number): TenantStore {
    const store = this.store(via)
    return tenant === 'default' && via % 3 === 0 ? store : store.forTenant(tenant)
  }

  store(via: number): Store {
    return this.stores[via % this.stores.length]!
  }

  holding(via: number): Holdings {
    return this.holdings[via % this.holdings.length]!
  }

  /** Runs the same thing on the store and on the reference; they must return the same or refuse with the same code. */
  async act<T>(
    real: () => Promise<T>,
    reference: (at: Span, actual: T | undefined) => unknown,
  ): Promise<T | undefined> {
    return this.check(await this.observe(real), reference)
  }

  async observe<T>(real: () => Promise<T>): Promise<Observed<T>> {
    const lo = this.backend.now()
    const outcome = await settle(real)
    return { outcome, at: new Span(lo, this.backend.now(), this.backend.slackMs) }
  }

  /** For what was observed earlier, as several at once. */
  async check<T>(
    { outcome, at }: Observed<T>,
    reference: (at: Span, actual: T | undefined) => unknown,
  ): Promise<T | undefined> {
    const actual = outcome.ok ? outcome.value : undefined
    this.same(outcome, await settle(async () => reference(at, actual)))
    await this.#learn()
    return actual
  }

  same(actual: unknown, expected: unknown, path?: string): void {
    const found = difference(actual, expected, path)
    if (found) throw new Mismatch(found)
  }

  /** Counts a value that is about to be stored. */
  stored<T extends Json>(value: T): T {
    this.tally.values += 1
    if (isHostile(value)) this.tally.hostileValues += 1
    return value
  }

  async pass(ms: number): Promise<void> {
    await this.backend.pass(ms)
    await this.expireDue()
  }

  /** Waits for what has fallen due. The order of several calls is the store's; that each ended once and not early is not. */
  async expireDue(): Promise<void> {
    const now = new Span(this.backend.now(), this.backend.now(), this.backend.slackMs)
    for (const [name, tenant] of this.contract.tenants) {
      const due = dueCalls(tenant, now.lo)
      for (const call of due) await this.#untilEnded(name, call)
      for (const id of new Set(due.map((call) => call.conversationId))) {
        const handle = this.handle(name, 0)
        const tail = await handle.streamEvents(id, { after: tenant.conversations.get(id)!.events.length })
        const end = new Span(this.backend.now(), this.backend.now(), this.backend.slackMs)
        for (const event of tail) {
          const { callId } = event.content as { callId?: string }
          const call = due.find((candidate) => candidate.id === callId && candidate.conversationId === id)
          if (!call) throw new Mismatch(`nothing was due that explains the event ${show(event)}`)
          expire(tenant, call, call.expiresAt!.until(end))
        }
        this.same(await handle.getConversation(id), conversationRecord(tenant.conversations.get(id)), 'after expiry')
      }
      for (const { id } of due) {
        const call = tenant.calls.get(id)
        if (call?.status !== 'expired') throw new Mismatch(`call '${id}' is past its deadline and no event says so`)
        this.same(await this.handle(name, 0).getToolCall(id), callRecord(call), 'expired call')
        this.tally.expiries += 1
      }
    }
  }

  /** Closes one of the stores and opens it again on the same data. */
  async reopen(via: number): Promise<void> {
    const index = via % this.stores.length
    await this.stores[index]!.close()
    this.#open(index)
  }

  async close(): Promise<void> {
    await Promise.all(this.stores.map((store) => store.close()))
  }

  #open(index: number): void {
    this.stores[index] = this.tally.counting(this.backend.open())
    this.holdings[index] = new Holdings()
  }

  async #untilEnded(tenant: string, { id }: Call): Promise<void> {
    const givesUpAt = Date.now() + 10_000
    while ((await this.handle(tenant, 0).getToolCall(id))?.status === 'pending') {
      if (Date.now() > givesUpAt) throw new Mismatch(`call '${id}' is past its deadline and still pending after 10 s`)
      await sleep(this.backend.isDurable ? 2 : 0)
    }
  }

  #remember(tenant: string, id: string, seq: number): void {
    const key = JSON.stringify([tenant, id])
    if (seq > (this.longest.get(key) ?? -1)) this.longest.set(key, seq)
  }

  /** New rows are ordered by a time only the store knows, so it is read at once. */
  async #learn(): Promise<void> {
    for (const [name, tenant] of this.contract.tenants) {
      for (const conversation of tenant.conversations.values()) {
        this.#remember(name, conversation.id, conversation.events.length)
        if (conversation.createdAt.isKnown) continue
        const { id } = conversation
        this.same(await this.handle(name, 0).getConversation(id), conversationRecord(conversation), 'new conversation')
      }
      for (const call of tenant.calls.values()) {
        if (call.createdAt.isKnown) continue
        this.same(await this.handle(name, 0).getToolCall(call.id), callRecord(call), 'new call')
      }
    }
  }
}

/** What a store did, and when. */
export type Observed<T> = { readonly outcome: Outcome<T>; readonly at: Span }

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly code: string }

/** The store and the reference disagree. */
export class Mismatch extends Error {}

async function settle<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    if (error instanceof Refused || PerdureError.isInstance(error)) return { ok: false, code: error.code }
    throw error
  }
}
