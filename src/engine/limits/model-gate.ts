import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { Lru } from '../../base/lru.ts'
import type { Agent } from '../../define/agent.ts'
import type { Usage } from '../../log/events.ts'
import type { ConversationState } from '../../log/state.ts'
import type { AttemptReport } from '../../model/call-model.ts'
import type { Accounts } from '../../store/accounts.ts'
import { type ConversationRef, conversationKey } from '../../store/records.ts'
import { AccountSlices } from './account-slices.ts'
import type { LimitSettings } from './turn-limits.ts'

/** A longer wait is not waited in the process: the turn is let go until it is over. */
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
        if (retryAfterMs !== null) this.#slices.pause(retryAfterMs)
        const waitMs = retryAfterMs ?? delayMs
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
  /** For how long the turn is let go; null: the call goes on as it would without an account. */
  readonly onRateLimited: (refusal: RateLimited) => number | null
  readonly end: (isAnswered: boolean) => void
}

/** A provider refused a request because there were too many. `delayMs`: until the next attempt; null: there is none. */
export type RateLimited = { readonly retryAfterMs: number | null; readonly delayMs: number | null }

/** What the last message of the conversation took; the next prompt has it and its answer. Null where it was not told. */
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
