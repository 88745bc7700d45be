import { readOptions } from '../base/errors/read-options.ts'
import type { ConversationUnreadableError } from '../base/errors/store-errors.ts'
import { checkDuration, checkHolder, checkId, checkWhole, readList } from './checks.ts'
import type { Driver, ReadConversation, StoredEvent } from './driver.ts'
import type { ClaimOptions, HeldLeases } from './lease.ts'
import { eventPage } from './log-pages.ts'
import { readDueLimits } from './read-limits.ts'
import { type ConversationRef, conversationKey } from './records.ts'
import { decodeConversation } from './rows.ts'
import { type DueLimits, slotLimitsOf } from './slots.ts'
import type { EventPage } from './store.ts'

/** What a process asks for when it claims due conversations: as many as it has room for. */
export type DueClaim = {
  readonly holder: string
  /** How long the leases last. Where the store's clock was put back, no lease lasts longer than three times that. */
  readonly ttlMs: number
  /** The agents that the process has code for. */
  readonly agents: readonly string[]
  readonly limit: number
  /** The most of them whose last leases lapsed: see `claimLease`. Default: 0. */
  readonly suspects?: number
  /** Conversations to leave alone, though they are due. Default: none. */
  readonly except?: readonly SkippedConversation[]
  /** Claims only these, where they are due, and of them only those without lapses. Default: any conversation. */
  readonly only?: readonly ConversationRef[]
  /** Leaves alone what has been due for less than so long, because the worker that its hint names is about to take it. A store without `announce` may ignore it. Default: 0. */
  readonly dueForMs?: number
  /** Only conversations for which a slot is free. Default: no limits. */
  readonly limits?: DueLimits
}

/** A conversation that a claim leaves alone until its log is longer than `seq`; however long it is, where `seq` is null. */
export type SkippedConversation = ConversationRef & { readonly seq: number | null }

/** Where a fork begins: the last event that was copied, and its owner. */
export type Fork = { readonly at: number; readonly owner: string | null }

/** A due conversation that a claim found free. */
export type ClaimedDue =
  | (ConversationRef & {
      readonly type: 'taken'
      readonly epoch: number
      /** As `claimLease` counts them. */
      readonly lapses: number
      readonly agent: string
      readonly lastSeq: number
      /** Its row is damaged: the process cannot work on it, and must release it. Null: it is readable. */
      readonly problem: ConversationUnreadableError | null
      /** Null where it is no fork. */
      readonly fork: Fork | null
      /** The last events of its log, up to `lastSeq`, where the claim brought them. It begins at the first event only where the log has no summary. */
      readonly log?: EventPage
    })
  /** The lapse that this claim found was one too many. */
  | (ConversationRef & { readonly type: 'quarantined' })

/** A `DueClaim` as a driver gets it: checked, with all defaults filled in. */
export type PreparedClaim = Required<Omit<DueClaim, 'only' | 'limits'>> & {
  readonly only: readonly ConversationRef[] | null
  readonly limits: DueLimits | null
}

/** What a driver claimed; `row` as it is after the claim. */
export type ClaimedRow = {
  readonly tenant: string
  readonly type: 'taken' | 'quarantined'
  readonly epoch: number
  readonly lapses: number
  readonly row: ReadConversation
  /** The last events, as the claim saw them; without the first event of a log that has a summary. Optional: reading them costs a statement more. */
  readonly log?: readonly StoredEvent[]
}

/** Also for drivers that have no `claimDue`: they claim one conversation after the other. */
export function dueClaims(driver: Driver, leases: HeldLeases): (input: DueClaim) => Promise<ClaimedDue[]> {
  return async (input) => {
    const claim = readDueClaim(input)
    if (claim.agents.length === 0 || claim.only?.length === 0) return []
    // Of named conversations, each claim counts for itself.
    const isOneByOne = !driver.claimDue || (claim.only !== null && claim.limits !== null)
    const rows = await (isOneByOne ? claimOneByOne(driver, claim) : driver.claimDue!(claim))
    for (const { type, tenant, epoch, row } of rows) {
      if (type === 'taken') leases.add({ tenant, id: row.id, holder: claim.holder, epoch })
    }
    return rows.map(claimedDue)
  }
}

function claimedDue({ type, tenant, epoch, lapses, row, log = [] }: ClaimedRow): ClaimedDue {
  const { id, agent, lastSeq } = row
  if (type === 'quarantined') return { type, tenant, id }
  return { type, tenant, id, epoch, lapses, agent: agent!, lastSeq, ...readRow(row), ...endOfLog(row, log) }
}

/** Nothing where the events do not reach to the end without a gap: one was too large to bring, or was appended while the claim looked. */
function endOfLog({ id, lastSeq }: ReadConversation, events: readonly StoredEvent[]): { readonly log?: EventPage } {
  const before = lastSeq - events.length
  const isEnd = events.length > 0 && events.every(({ seq }, place) => seq === before + 1 + place)
  return isEnd ? { log: eventPage(id, events, { after: before, keep: 'oldest' }) } : {}
}

function readRow(row: ReadConversation): Pick<Extract<ClaimedDue, { type: 'taken' }>, 'problem' | 'fork'> {
  try {
    const { parent, owner } = decodeConversation(row)
    return { problem: null, fork: parent?.at === undefined ? null : { at: parent.at, owner } }
  } catch (error) {
    return { problem: error as ConversationUnreadableError, fork: null }
  }
}

/** If one of the claims fails, those before it are strays: see `Store.keepLeases`. */
async function claimOneByOne(driver: Driver, claim: PreparedClaim): Promise<ClaimedRow[]> {
  const { holder, ttlMs, agents, limit } = claim
  const choice = new DueChoice(claim)
  const limits = claim.limits && !claim.only ? { limits: claim.limits } : {}
  const due = await driver.dueWork({ agents, ...choice.query, leaseMs: ttlMs, ...limits })
  const claimed: ClaimedRow[] = []
  for (const { tenant, id } of due) {
    if (claimed.length >= limit) break
    const row = choice.asksFor(tenant, id) ? await driver.getConversation(tenant, id) : null
    if (!row || !choice.takes(tenant, row)) continue
    const outcome = await driver.claimLease(tenant, id, holder, ttlMs, choice.terms(tenant, row))
    if (outcome.type !== 'taken' && outcome.type !== 'quarantined') continue
    const { epoch, lapses } = outcome.type === 'taken' ? outcome : { epoch: 0, lapses: 0 }
    claimed.push(choice.claimed({ tenant, type: outcome.type, epoch, lapses, row }))
  }
  return claimed
}

/** The most rows that a claim goes through to find what it may take. */
const mostRows = 10_000

/** Chooses among due conversations, for drivers that decide in code. */
export class DueChoice {
  readonly #claim: PreparedClaim
  readonly #except: ReadonlyMap<string, number>
  readonly #only: ReadonlySet<string> | null
  #suspects: number

  constructor(claim: PreparedClaim) {
    const { except, only, suspects } = claim
    this.#claim = claim
    this.#except = new Map(except.map(({ tenant, id, seq }) => [conversationKey(tenant, id), seq ?? endless]))
    this.#only = only && new Set(only.map(({ tenant, id }) => conversationKey(tenant, id)))
    this.#suspects = only ? 0 : suspects
  }

  /** How many due conversations to look at: those to leave alone may be the longest due. */
  get query(): { readonly limit: number; readonly suspects: number } {
    const { limit, except } = this.#claim
    return {
      limit: this.#only ? mostRows : Math.min(mostRows, limit + except.length),
      suspects: this.#suspects === 0 ? 0 : this.#suspects + except.length,
    }
  }

  get hasPlaceForSuspect(): boolean {
    return this.#suspects > 0
  }

  /** The terms of a claim on one of them. */
  terms(tenant: string, { agent }: Pick<ReadConversation, 'agent'>): Required<ClaimOptions> {
    const { limits } = this.#claim
    return { suspects: this.hasPlaceForSuspect, limits: limits ? slotLimitsOf(limits, tenant, agent ?? '') : {} }
  }

  asksFor(tenant: string, id: string): boolean {
    return this.#only === null || this.#only.has(conversationKey(tenant, id))
  }

  takes(tenant: string, { id, agent, lastSeq }: Pick<ReadConversation, 'id' | 'agent' | 'lastSeq'>): boolean {
    const isKnown = agent !== null && this.#claim.agents.includes(agent)
    return isKnown && !((this.#except.get(conversationKey(tenant, id)) ?? -1) >= lastSeq)
  }

  /** Must be called with each row that was claimed. */
  claimed(row: ClaimedRow): ClaimedRow {
    if (row.lapses > 0 || row.type === 'quarantined') this.#suspects -= 1
    return row
  }
}

const endless = Number.MAX_SAFE_INTEGER

function readDueClaim(input: DueClaim): PreparedClaim {
  const { holder, ttlMs, agents, limit, suspects, except, only, dueForMs, limits } = readOptions<
    DueClaim,
    keyof DueClaim
  >('claim', input, claimNames)
  checkHolder(holder)
  checkDuration('ttlMs', ttlMs)
  checkWhole('limit', limit, 1)
  if (suspects !== undefined) checkWhole('suspects', suspects, 0)
  if (dueForMs !== undefined) checkDuration('dueForMs', dueForMs, 0)
  const names = readList('agents', agents!)
  for (const name of names) checkId('agent', name)
  return {
    holder,
    ttlMs,
    agents: names,
    limit,
    suspects: suspects ?? 0,
    except: except === undefined ? [] : readList('except', except).map(readSkipped),
    only: only === undefined ? null : readList('only', only).map(readRef),
    dueForMs: dueForMs ?? 0,
    limits: limits === undefined ? null : readDueLimits(limits),
  }
}

const claimNames = ['holder', 'ttlMs', 'agents', 'limit', 'suspects', 'except', 'only', 'dueForMs', 'limits'] as const

function readSkipped(input: SkippedConversation): SkippedConversation {
  const { tenant, id, seq } = readOptions<SkippedConversation, keyof SkippedConversation>('except', input, [
    'tenant',
    'id',
    'seq',
  ])
  if (seq !== null) checkWhole('seq', seq, 0)
  return { ...readRef({ tenant: tenant!, id: id! }), seq: seq ?? null }
}

function readRef(input: ConversationRef): ConversationRef {
  const { tenant, id } = readOptions<ConversationRef, keyof ConversationRef>('only', input, ['tenant', 'id'])
  checkId('tenant', tenant)
  checkId('conversation id', id)
  return { tenant, id }
}
