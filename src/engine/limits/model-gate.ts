import { type Clock, monotonic } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { Lru } from '../../base/lru.ts'
import type { Agent } from '../../define/agent.ts'
import type { Usage } from '../../log/events.ts'
import type { ConversationState } from '../../log/state.ts'
import type { AttemptReport } from '../../model/call-model.ts'
import type { Accounts, BorrowRequest } from '../../store/accounts.ts'
import { longestPauseMs } from '../../store/budget.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import type { AccountLimits, LimitSettings } from './turn-limits.ts'

/** For a longer wait the turn is released until the wait is over. */
export const longestHeldWaitMs = 1_000

/** The accounts of this node's agents. */
export class ModelGates {
  readonly #slices = new Map<string, AccountSlices>()
  /** How often the provider has put off each conversation's call in this process. */
  readonly #putOff = new Lru<number>({ entries: 10_000 })

  constructor(
    { accounts: limits = {} }: LimitSettings,
    agents: Iterable<Agent>,
    parts: { readonly accounts: Accounts; readonly clock: Clock; readonly warnOfStore: Logger['warn'] },
  ) {
    for (const { account } of agents) {
      if (account === null || this.#slices.has(account)) continue
      const own = Object.hasOwn(limits, account) ? limits[account]! : {}
      this.#slices.set(account, new AccountSlices(account, own, parts))
    }
  }

  /** Null for an agent without an account. */
  of(agent: Agent, { tenant, id }: ConversationRef): ModelGate | null {
    const slices = agent.account === null ? null : this.#slices.get(agent.account)
    return slices ? new ModelGate(slices, agent, this.#putOff, conversationKey(tenant, id)) : null
  }
}

/** Keeps the model calls of one conversation within the budget of its agent's account. */
export class ModelGate {
  readonly #slices: AccountSlices
  readonly #agent: Agent
  readonly #putOff: Lru<number>
  readonly #key: string
  #reserved: number | null = null
  #postponedMs = 0

  constructor(slices: AccountSlices, agent: Agent, putOff: Lru<number>, key: string) {
    this.#slices = slices
    this.#agent = agent
    this.#putOff = putOff
    this.#key = key
  }

  get isPostponed(): boolean {
    return this.#postponedMs > 0
  }

  /** The provider has put off the call that was made last. */
  postpone(inMs: number): void {
    this.#postponedMs = inMs
  }

  /** 0: the call may be made. Otherwise for how long it must wait. */
  async enter(state: ConversationState): Promise<number> {
    const postponedMs = this.#postponedMs
    this.#postponedMs = 0
    if (postponedMs > 0) return postponedMs
    if (this.#reserved !== null) return 0
    const tokens = expectedTokens(state) ?? this.#slices.usualTokens
    const waitMs = await this.#slices.take(tokens)
    if (waitMs === 0) this.#reserved = tokens
    return waitMs
  }

  /** The call that has entered. `end` must be called when it has ended, however it did. */
  begin(): RunningCall {
    const taken = { requests: 1, tokens: this.#reserved ?? 0 }
    this.#reserved = null
    const used = { requests: 0, tokens: 0 }
    let isOver = false
    return {
      onAttempt: ({ usage, status }) => {
        used.requests += 1
        const told = tokensOf(usage)
        // Some providers tell nothing.
        used.tokens += told ?? (status === 'ok' ? taken.tokens : 0)
      },
      onRateLimited: ({ retryAfterMs, delayMs }) => {
        // Providers may ask for fractions, and for days.
        const askedMs = retryAfterMs === null ? null : Math.min(Math.ceil(retryAfterMs), longestPauseMs)
        if (askedMs !== null && askedMs > 0) this.#slices.pause(askedMs)
        const waitMs = askedMs ?? delayMs
        if (waitMs === null || waitMs <= longestHeldWaitMs || !this.#mayPutOff()) return null
        this.#putOff.set(this.#key, 1 + (this.#putOff.get(this.#key) ?? 0))
        return waitMs
      },
      end: (isAnswered) => {
        if (isOver) return
        isOver = true
        this.#slices.settle(taken, used)
        if (isAnswered) this.#putOff.delete(this.#key)
      },
    }
  }

  /** A provider that refuses again and again ends the turn, as without an account. Fallback models are tried instead of waiting. */
  #mayPutOff(): boolean {
    const { retry, fallbackModels } = this.#agent
    return retry !== false && fallbackModels.length === 0 && (this.#putOff.get(this.#key) ?? 0) < retry.maxAttempts
  }
}

/** A model call that is accounted for. */
export type RunningCall = {
  readonly onAttempt: (report: Pick<AttemptReport, 'usage' | 'status'>) => void
  /** For how long the turn is released; null: the call proceeds as without an account. */
  readonly onRateLimited: (refusal: RateLimited) => number | null
  readonly end: (isAnswered: boolean) => void
}

/** A provider refused a request because there were too many. `delayMs`: until the next attempt; null: there is none. */
export type RateLimited = { readonly retryAfterMs: number | null; readonly delayMs: number | null }

/** The usage of the last message of the conversation; the next prompt contains it and its answer. Null if it was not reported. */
function expectedTokens({ turns }: ConversationState): number | null {
  for (const { items } of turns.slice(-3).reverse()) {
    const told = items.slice(-20).findLast((item) => item.type === 'assistant' && tokensOf(item.usage) !== null)
    if (told?.type === 'assistant') return tokensOf(told.usage)
  }
  return null
}

function tokensOf({ inputTokens, outputTokens }: Usage): number | null {
  if (inputTokens === undefined && outputTokens === undefined) return null
  return (inputTokens ?? 0) + (outputTokens ?? 0)
}

type Parts = {
  readonly accounts: Accounts
  readonly clock: Clock
  readonly warnOfStore: Logger['warn']
}

/** A slice is at most this part of a minute's budget. */
const slicesPerMinute = 50
/** How long a slice is used before the store is asked again, so that a pause reported to another node soon applies here. */
const sliceMs = 2_000
/** A process without limits in the account borrows at most this. */
const unlimited = { requests: 1_000_000, tokens: 1_000_000_000 }
/** The longest that a turn is put off at once. */
const longestWaitMs = 60_000
const firstGuess = 1_000

type Slice = { requests: number; tokens: number; minute: number; untilMs: number }

/** What this process has borrowed of one account's minute, and uses for its model calls. Times are of the clock that never goes back. */
class AccountSlices {
  readonly #parts: Parts
  readonly #name: string
  readonly #limits: BorrowRequest['limits']
  #slice: Slice | null = null
  #borrowing: Promise<number> | null = null
  /** Until then the store lends nothing; turns that are put off before that queue here. */
  #refusedUntilMs = 0
  #queueEndsMs = 0
  /** What a call takes, as calls before it did. */
  #usualTokens = firstGuess

  constructor(name: string, { requestsPerMinute, tokensPerMinute }: AccountLimits, parts: Parts) {
    this.#name = name
    this.#parts = parts
    this.#limits = { requests: requestsPerMinute ?? null, tokens: tokensPerMinute ?? null }
  }

  get usualTokens(): number {
    return Math.round(this.#usualTokens)
  }

  /** 0: one request and these tokens are taken. Otherwise for how long the call must wait; nothing is taken then. Rejects when the store fails. */
  async take(tokens: number): Promise<number> {
    const needed = this.#limits.tokens === null ? tokens : Math.min(tokens, this.#limits.tokens)
    for (;;) {
      const nowMs = this.#nowMs
      if (this.#refusedUntilMs > nowMs) return this.#putOff(this.#refusedUntilMs - nowMs, needed)
      const slice = this.#slice
      if (slice && slice.untilMs > nowMs && slice.requests >= 1 && slice.tokens >= needed) {
        slice.requests -= 1
        slice.tokens -= needed
        return 0
      }
      // One call asks for all that wait here: the next takes from what the first has brought.
      if (this.#borrowing !== null) await this.#borrowing.catch(() => 0)
      else {
        const waitMs = await this.#borrow({ requests: 1, tokens: needed })
        if (waitMs > 0) return this.#putOff(waitMs, needed)
      }
    }
  }

  /** Corrects what was taken by what was used. */
  settle(taken: { readonly requests: number; readonly tokens: number }, used: typeof taken): void {
    if (used.requests > 0 && used.tokens > 0) this.#usualTokens += (used.tokens - this.#usualTokens) / 8
    const slice = this.#slice
    if (!slice) return
    slice.requests += taken.requests - used.requests
    slice.tokens += Math.round(taken.tokens - used.tokens)
    // Report use beyond the slice, even if no call follows.
    if ((slice.requests < 0 || slice.tokens < 0) && this.#borrowing === null) this.#tell(() => this.#borrow(nothing))
  }

  /** The provider asked to wait: no node calls it until then. */
  pause(forMs: number): void {
    this.#refusedUntilMs = Math.max(this.#refusedUntilMs, this.#nowMs + forMs)
    this.#tell(() => this.#parts.accounts.pause(this.#name, forMs))
  }

  get #nowMs(): number {
    return monotonic(this.#parts.clock)
  }

  /** Turns that were put off resume one after the other, as fast as the budget allows, not all at once. */
  #putOff(waitMs: number, tokens: number): number {
    const nowMs = this.#nowMs
    const { requests, tokens: mostTokens } = this.#limits
    const eachMs =
      60_000 * Math.max(requests === null ? 0 : 1 / requests, mostTokens === null ? 0 : tokens / mostTokens)
    const atMs = Math.max(nowMs + waitMs, this.#queueEndsMs)
    this.#queueEndsMs = Math.min(atMs + eachMs, nowMs + longestWaitMs)
    return Math.max(1, Math.min(Math.ceil(atMs - nowMs), longestWaitMs))
  }

  #borrow(need: { readonly requests: number; readonly tokens: number }): Promise<number> {
    this.#borrowing ??= this.#ask(need).finally(() => {
      this.#borrowing = null
    })
    return this.#borrowing
  }

  async #ask(need: BorrowRequest['need']): Promise<number> {
    const last = this.#slice
    const returned = last && { requests: last.requests, tokens: last.tokens, minute: last.minute }
    const want = {
      requests: share(this.#limits.requests, unlimited.requests),
      tokens: Math.max(need.tokens, share(this.#limits.tokens, unlimited.tokens)),
    }
    const request = { account: this.#name, limits: this.#limits, need, want, returned }
    const askedMs = this.#nowMs
    const answer = await this.#parts.accounts.borrow(request)
    // A returned slice is not returned again; what was taken from it since then is owed.
    const [requests, tokens] = last ? [last.requests - returned!.requests, last.tokens - returned!.tokens] : [0, 0]
    if (answer.type === 'wait') {
      this.#slice = last && { ...last, requests, tokens, untilMs: 0 }
      if (need.requests > 0)
        this.#refusedUntilMs = Math.max(this.#refusedUntilMs, askedMs + Math.min(answer.waitMs, 1_000))
      return answer.waitMs
    }
    const untilMs = askedMs + Math.min(sliceMs, answer.forMs)
    this.#slice = {
      requests: answer.requests + requests,
      tokens: answer.tokens + tokens,
      minute: answer.minute,
      untilMs,
    }
    return 0
  }

  #tell(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => {
      this.#parts.warnOfStore('reporting the use of an account failed', { account: this.#name, error })
    })
  }
}

const nothing = { requests: 0, tokens: 0 }

function share(limit: number | null, otherwise: number): number {
  return limit === null ? otherwise : Math.max(1, Math.ceil(limit / slicesPerMinute))
}
