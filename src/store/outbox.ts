import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError, OutboxUnsupportedError } from '../base/errors/store-errors.ts'
import { decode, encode } from '../log/codec.ts'
import { checkDuration, checkId, checkOneOf, checkWhole, readList } from './checks.ts'

/**
 * What a store may offer beside its contract, so that subscribers receive what was committed. A commit writes a row for each subscriber to the type of each
 * of its events, in its own transaction: every commit of any process that begins after `register` has resolved. Forks and restored conversations write none;
 * deleting a conversation deletes its rows. The rows of one subscriber and conversation are a line: it is claimed as a whole, and delivered in the order of `seq`.
 */
export type Outbox = {
  /** Registers subscribers, or changes what they subscribe to; the rows of types that one no longer names are removed. Counts as a claim. */
  register(subscribers: readonly Subscription[]): Promise<Registered[]>
  /**
   * Takes up to `limit` lines of each subscriber that are due and not taken, those that are due longest first, and returns the first delivery of each. A line
   * that is not settled within `leaseMs` is due again, with one try more, and only a claim of lapsed lines takes it: a process may have died of it. Records
   * that a node claims these subscribers.
   */
  claim(request: ClaimDeliveries): Promise<Delivery[]>
  /** Ends a delivery, or puts it off. Refused (`lost`) unless its token is still the one of its line. */
  settle(delivery: Delivery, end: DeliveryEnd): Promise<SettledDelivery>
  /** The deliveries that were given up, the newest first. `before` is the id of the last one of the previous page. Default of `limit`: 100. */
  failed(page?: FailedPage): Promise<FailedDelivery[]>
  /** Puts deliveries back at the beginning of their lines, or forgets them. Returns how many there were. */
  endFailed(ids: readonly number[], how: 'retry' | 'discard'): Promise<number>
  /** All that were ever registered and not removed, by name. */
  subscribers(): Promise<SubscriberState[]>
  /** Forgets a subscriber with all its rows. False when there is none. */
  removeSubscriber(name: string): Promise<boolean>
}

/** `types`: of events. `agent`: only events in conversations that have this agent when they are committed; null: in all. */
export type Subscription = { readonly name: string; readonly types: readonly string[]; readonly agent: string | null }

/** `stoppedAt`: since when its events were not recorded, because no node had claimed it; null: they were. */
export type Registered = { readonly name: string; readonly isNew: boolean; readonly stoppedAt: number | null }

/** Which lines a node takes, and for how long. `limit`: for each subscriber. `lapsed`: those that were taken before and not settled in time, or the others. */
export type ClaimDeliveries = {
  readonly subscribers: readonly string[]
  readonly limit: number
  readonly leaseMs: number
  readonly lapsed: boolean
}

/** One event for one subscriber. `tries`: how often it was tried before. */
export type Delivery = {
  readonly subscriber: string
  readonly tenant: string
  readonly conversationId: string
  readonly seq: number
  readonly tries: number
  readonly token: number
}

/**
 * `delivered` and `failed` end it. With `leaseMs`, the next delivery of the line is taken along. `again`: the line is due again in `inMs`; `tries` is what the
 * delivery has then.
 */
export type DeliveryEnd =
  | { readonly type: 'delivered'; readonly leaseMs?: number }
  | { readonly type: 'failed'; readonly error: string; readonly leaseMs?: number }
  | { readonly type: 'again'; readonly inMs: number; readonly tries: number }

/** `next`: the next delivery of the line, where it was taken along. */
export type SettledDelivery =
  | { readonly type: 'ok'; readonly next: Delivery | null }
  /** Another process has the line, or the conversation was deleted. */
  | { readonly type: 'lost' }

/** Which of the deliveries that were given up are read. */
export type FailedPage = { readonly subscriber?: string; readonly before?: number; readonly limit?: number }

/** A delivery that was given up. */
export type FailedDelivery = {
  readonly id: number
  readonly subscriber: string
  readonly tenant: string
  readonly conversationId: string
  readonly seq: number
  readonly tries: number
  readonly error: string
  readonly failedAt: number
}

/** A subscriber and how far it is. */
export type SubscriberState = Subscription & {
  /** When a node claimed it last, to the hour. */
  readonly claimedAt: number
  /** Null while its events are recorded. */
  readonly stoppedAt: number | null
  /** How many deliveries wait or are being made, and how many were given up. */
  readonly waiting: number
  readonly failed: number
}

/** Throws `OutboxUnsupportedError` where the store has none. */
export function outboxOf(store: { readonly outbox?: Outbox }): Outbox {
  if (!store.outbox) throw new OutboxUnsupportedError()
  return store.outbox
}

/** A subscriber that no node has claimed for this long gets no more rows. */
export const stopsAfterMs = 7 * 24 * 3_600_000
/** A claim is recorded at most this often: it need not be exact. */
export const claimRecordedMs = 3_600_000

/** Since when a subscriber that was claimed at `claimedAt` has stopped. */
export function stoppedSince(claimedAt: number, now: number): number | null {
  return now >= claimedAt + stopsAfterMs ? claimedAt + stopsAfterMs : null
}

/** Checks what callers pass, once for all backends. Errors reach the driver encoded, because they are free text. */
export function checkedOutbox(driver: Outbox): Outbox {
  return {
    async register(input) {
      const subscribers = readList('subscribers', input).map(readSubscription)
      const names = new Set(subscribers.map(({ name }) => name))
      if (names.size < subscribers.length) throw new InvalidArgumentError('subscribers', 'must not have a name twice')
      return subscribers.length === 0 ? [] : driver.register(subscribers)
    },
    async claim(input) {
      const names = ['subscribers', 'limit', 'leaseMs', 'lapsed'] as const
      const { subscribers, limit, leaseMs, lapsed } = readOptions('request', input, names)
      checkWhole('limit', limit, 1)
      checkDuration('leaseMs', leaseMs)
      if (typeof lapsed !== 'boolean') throw new InvalidArgumentError('lapsed', 'must be true or false')
      const unique = [...new Set(readList('subscribers', subscribers!))]
      for (const name of unique) checkId('subscriber', name)
      return unique.length === 0 ? [] : driver.claim({ subscribers: unique, limit, leaseMs, lapsed })
    },
    settle: async (delivery, end) => driver.settle(readDelivery(delivery), readEnd(end)),
    async failed(input) {
      const { subscriber, before, limit = 100 } = readOptions('page', input, ['subscriber', 'before', 'limit'])
      if (subscriber !== undefined) checkId('subscriber', subscriber)
      if (before !== undefined) checkWhole('before', before, 1)
      checkWhole('limit', limit, 1)
      const page = {
        limit,
        ...(subscriber === undefined ? {} : { subscriber }),
        ...(before === undefined ? {} : { before }),
      }
      const rows = await driver.failed(page)
      return rows.map((row) => ({ ...row, error: String(decode(row.error)) }))
    },
    async endFailed(input, how) {
      const ids = [...new Set(readList('ids', input))]
      for (const id of ids) checkWhole('id', id, 1)
      checkOneOf('how', how, ['retry', 'discard'])
      return ids.length === 0 ? 0 : driver.endFailed(ids, how)
    },
    subscribers: () => driver.subscribers(),
    async removeSubscriber(name) {
      checkId('subscriber', name)
      return driver.removeSubscriber(name)
    },
  }
}

function readSubscription(input: Subscription): Subscription {
  const { name, types, agent } = readOptions<Subscription, keyof Subscription>('subscriber', input, [
    'name',
    'types',
    'agent',
  ])
  checkId('subscriber', name)
  const list = [...new Set(readList('types', types!))].sort()
  if (list.length === 0) throw new InvalidArgumentError('types', 'must name at least one type of event')
  for (const type of list) checkId('type', type)
  if (agent !== undefined && agent !== null) checkId('agent', agent)
  return { name, types: list, agent: agent ?? null }
}

function readDelivery(input: Delivery): Delivery {
  const read = readOptions<Delivery, keyof Delivery>('delivery', input, deliveryNames)
  const { subscriber, tenant, conversationId, seq, tries, token } = read
  checkId('subscriber', subscriber)
  checkId('tenant', tenant)
  checkId('conversation id', conversationId)
  checkWhole('seq', seq, 1)
  checkWhole('tries', tries, 0)
  checkWhole('token', token, 0)
  return { subscriber, tenant, conversationId, seq, tries, token }
}

const deliveryNames = ['subscriber', 'tenant', 'conversationId', 'seq', 'tries', 'token'] as const

/** The most of an error that is kept. */
const maxErrorLength = 1_000

function readEnd(input: DeliveryEnd): DeliveryEnd {
  const { type, inMs, tries, leaseMs, error } = readOptions<EndMembers, keyof EndMembers>('end', input, endNames)
  checkOneOf('type', type, ['delivered', 'failed', 'again'])
  if (type === 'again') {
    checkDuration('inMs', inMs, 0)
    checkWhole('tries', tries, 0)
    return { type, inMs, tries }
  }
  if (leaseMs !== undefined) checkDuration('leaseMs', leaseMs)
  const lease = leaseMs === undefined ? {} : { leaseMs }
  if (type === 'delivered') return { type, ...lease }
  if (typeof error !== 'string') throw new InvalidArgumentError('error', 'must be a string')
  return { type, ...lease, error: encode(error.slice(0, maxErrorLength).toWellFormed(), 'error') }
}

type EndMembers = {
  readonly type: DeliveryEnd['type']
  readonly inMs?: number
  readonly tries?: number
  readonly leaseMs?: number
  readonly error?: string
}

const endNames = ['type', 'inMs', 'tries', 'leaseMs', 'error'] as const
