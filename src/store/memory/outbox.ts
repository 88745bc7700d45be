import {
  type ClaimDeliveries,
  claimRecordedMs,
  type Delivery,
  type DeliveryEnd,
  type FailedDelivery,
  type FailedPage,
  type Outbox,
  type Registered,
  type SettledDelivery,
  type SubscriberState,
  type Subscription,
  stoppedSince,
} from '../outbox.ts'
import { byteOrder, type MemoryTables } from './memory-tables.ts'

type Line = {
  readonly subscriber: string
  readonly tenant: string
  readonly conversationId: string
  /** In ascending order; never empty. */
  readonly seqs: number[]
  dueAt: number
  tries: number
  /** Null: not taken. */
  token: number | null
}

/** What a commit appended. */
type Added = {
  readonly tenant: string
  readonly conversationId: string
  readonly lastSeq: number
  readonly types: readonly string[]
  readonly at: number
}

type Parts = { readonly tables: MemoryTables; readonly clock: { now(): number } }

/** The outbox of a memory store. Every method runs synchronously before it returns its promise. */
export class MemoryOutbox implements Outbox {
  readonly #parts: Parts
  readonly #lines = new Map<string, Line>()
  #failed: FailedDelivery[] = []
  #lastFailed = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Part of the commit, where there are subscribers. */
  add({ tenant, conversationId, lastSeq, types, at }: Added): void {
    // Under a freed id, the time of an event may be later.
    const now = this.#parts.clock.now()
    const agent = this.#parts.tables.tenant(tenant).conversations.get(conversationId)?.columns.agent
    for (const subscriber of this.#parts.tables.subscribers.values()) {
      if (stoppedSince(subscriber.claimedAt, at) !== null) continue
      if (subscriber.agent !== null && subscriber.agent !== agent) continue
      for (const [index, type] of types.entries()) {
        const seq = lastSeq - types.length + 1 + index
        if (subscriber.types.includes(type))
          this.#put({ subscriber: subscriber.name, tenant, conversationId }, seq, now)
      }
    }
  }

  /** Part of a deletion. */
  forget(tenant: string, isGone: (conversationId: string) => boolean): void {
    for (const [key, line] of this.#lines)
      if (line.tenant === tenant && isGone(line.conversationId)) this.#lines.delete(key)
    this.#failed = this.#failed.filter((row) => row.tenant !== tenant || !isGone(row.conversationId))
  }

  async register(subscribers: readonly Subscription[]): Promise<Registered[]> {
    const now = this.#parts.clock.now()
    return subscribers.map((subscription) => {
      const known = this.#parts.tables.subscribers.get(subscription.name)
      this.#parts.tables.subscribers.set(subscription.name, { ...subscription, claimedAt: now })
      if (known) this.#dropOtherTypes(subscription)
      const stoppedAt = known ? stoppedSince(known.claimedAt, now) : null
      return { name: subscription.name, isNew: known === undefined, stoppedAt }
    })
  }

  async claim({ subscribers, limit, leaseMs, lapsed }: ClaimDeliveries): Promise<Delivery[]> {
    const now = this.#parts.clock.now()
    const claimed: Delivery[] = []
    for (const name of subscribers) {
      const known = this.#parts.tables.subscribers.get(name)
      if (!known) continue
      if (known.claimedAt <= now - claimRecordedMs)
        this.#parts.tables.subscribers.set(name, { ...known, claimedAt: now })
      const due = [...this.#lines.values()].filter(
        (line) => line.subscriber === name && line.dueAt <= now && (line.token !== null) === lapsed,
      )
      due.sort((left, right) => left.dueAt - right.dueAt)
      for (const line of due.slice(0, limit)) {
        line.dueAt = now + leaseMs
        if (lapsed) line.tries += 1
        line.token = this.#parts.tables.nextEpoch()
        claimed.push(deliveryOf(line))
      }
    }
    return claimed
  }

  async settle(delivery: Delivery, end: DeliveryEnd): Promise<SettledDelivery> {
    const now = this.#parts.clock.now()
    const key = lineKey(delivery)
    const line = this.#lines.get(key)
    if (line?.token !== delivery.token) return { type: 'lost' }
    if (end.type === 'again') {
      const isFirst = line.seqs[0] === delivery.seq
      Object.assign(line, { dueAt: now + end.inMs, tries: isFirst ? end.tries : 0, token: null })
      return { type: 'ok', next: null }
    }
    const place = line.seqs.indexOf(delivery.seq)
    if (place >= 0) line.seqs.splice(place, 1)
    if (end.type === 'failed' && place >= 0) this.#fail(delivery, end.error, now)
    if (line.seqs.length === 0) {
      this.#lines.delete(key)
      return { type: 'ok', next: null }
    }
    const { leaseMs } = end
    Object.assign(line, { dueAt: now + (leaseMs ?? 0), tries: 0, token: leaseMs === undefined ? null : line.token })
    return { type: 'ok', next: leaseMs === undefined ? null : deliveryOf(line) }
  }

  async failed({ subscriber, before, limit }: FailedPage): Promise<FailedDelivery[]> {
    return this.#failed
      .filter((row) => (subscriber === undefined || row.subscriber === subscriber) && row.id < (before ?? Infinity))
      .sort((left, right) => right.id - left.id)
      .slice(0, limit)
  }

  async endFailed(ids: readonly number[], how: 'retry' | 'discard'): Promise<number> {
    const ended = this.#failed.filter(({ id }) => ids.includes(id))
    this.#failed = this.#failed.filter(({ id }) => !ids.includes(id))
    const now = this.#parts.clock.now()
    if (how === 'retry') for (const row of ended) this.#putBack(row, row.seq, now)
    return ended.length
  }

  async subscribers(): Promise<SubscriberState[]> {
    const now = this.#parts.clock.now()
    const states = [...this.#parts.tables.subscribers.values()].map((subscriber) => {
      const lines = [...this.#lines.values()].filter((line) => line.subscriber === subscriber.name)
      return {
        ...subscriber,
        stoppedAt: stoppedSince(subscriber.claimedAt, now),
        waiting: lines.reduce((count, { seqs }) => count + seqs.length, 0),
        failed: this.#failed.filter((row) => row.subscriber === subscriber.name).length,
      }
    })
    return states.sort((left, right) => byteOrder(left.name, right.name))
  }

  async removeSubscriber(name: string): Promise<boolean> {
    for (const [key, line] of this.#lines) if (line.subscriber === name) this.#lines.delete(key)
    this.#failed = this.#failed.filter((row) => row.subscriber !== name)
    return this.#parts.tables.subscribers.delete(name)
  }

  #put(of: LineName, seq: number, dueAt: number): void {
    const key = lineKey(of)
    const line = this.#lines.get(key)
    if (line) line.seqs.push(seq)
    else this.#lines.set(key, { ...nameOf(of), seqs: [seq], dueAt, tries: 0, token: null })
  }

  /** A delivery that is under way comes first: a line has one at a time. */
  #putBack(of: LineName, seq: number, now: number): void {
    const line = this.#lines.get(lineKey(of))
    if (!line) return this.#put(of, seq, now)
    line.seqs.push(seq)
    line.seqs.sort((left, right) => left - right)
    if (line.token === null) Object.assign(line, { dueAt: now, tries: 0 })
  }

  #fail(delivery: Delivery, error: string, failedAt: number): void {
    this.#lastFailed += 1
    const { tries } = delivery
    this.#failed.push({
      id: this.#lastFailed,
      ...nameOf(delivery),
      seq: delivery.seq,
      tries: tries + 1,
      error,
      failedAt,
    })
  }

  #dropOtherTypes({ name, types }: Subscription): void {
    for (const [key, line] of this.#lines) {
      if (line.subscriber !== name) continue
      const events = this.#parts.tables.tenant(line.tenant).conversations.get(line.conversationId)?.events
      const left = line.seqs.filter((seq) => types.includes(events?.[seq - 1]?.type ?? ''))
      line.seqs.splice(0, line.seqs.length, ...left)
      if (line.seqs.length === 0) this.#lines.delete(key)
    }
  }
}

type LineName = { readonly subscriber: string; readonly tenant: string; readonly conversationId: string }

function nameOf({ subscriber, tenant, conversationId }: LineName): LineName {
  return { subscriber, tenant, conversationId }
}

function lineKey({ subscriber, tenant, conversationId }: LineName): string {
  return JSON.stringify([subscriber, tenant, conversationId])
}

function deliveryOf(line: Line): Delivery {
  return { ...nameOf(line), seq: line.seqs[0]!, tries: line.tries, token: line.token! }
}
