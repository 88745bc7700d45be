import type { Borrowed, BorrowRequest } from './accounts.ts'

const minuteMs = 60_000

/** The longest that a provider's `retry-after` pauses an account. */
export const longestPauseMs = 10 * minuteMs

/** Requests and tokens. */
export type Spending = { readonly requests: number; readonly tokens: number }

/** What is kept of an account at a provider. Times are the store's. */
export type AccountBudget = {
  /** When the minute of `spent` began. */
  readonly minute: number
  readonly spent: Spending
  /** In the minute before. */
  readonly before: Spending
  /** The provider asked to wait until then. */
  readonly pausedUntil: number
}

/** Of an account that was never used. */
const freshBudget: AccountBudget = { minute: 0, spent: nothing(), before: nothing(), pausedUntil: 0 }

function nothing(): Spending {
  return { requests: 0, tokens: 0 }
}

/**
 * Decides about a slice. The minute before counts with the share of it that is less than a minute ago, so that no 60 seconds hold much more than the limit, and
 * waiting callers need not all wait for the same moment.
 */
export function borrow(
  budget: AccountBudget | null,
  request: BorrowRequest,
  now: number,
): { readonly budget: AccountBudget; readonly outcome: Borrowed } {
  const { limits, returned } = request
  const before = atMinute(budget ?? freshBudget, now)
  const current = returned ? withReturned(before, returned) : before
  const restMs = current.minute + minuteMs - now
  const pauseMs = current.pausedUntil - now
  if (pauseMs > 0) return { budget: current, outcome: { type: 'wait', waitMs: pauseMs } }
  const requests = dimension('requests', limits.requests, request, current, now)
  const tokens = dimension('tokens', limits.tokens, request, current, now)
  const waitMs = Math.max(requests.waitMs, tokens.waitMs)
  if (waitMs > 0) return { budget: current, outcome: { type: 'wait', waitMs } }
  const granted = { requests: requests.granted, tokens: tokens.granted }
  return {
    budget: { ...current, spent: sum(current.spent, granted) },
    outcome: { type: 'granted', ...granted, minute: current.minute, forMs: restMs },
  }
}

/** The provider asked to wait. A longer pause that is known stays. */
export function paused(budget: AccountBudget | null, forMs: number, now: number): AccountBudget {
  const current = atMinute(budget ?? freshBudget, now)
  return { ...current, pausedUntil: Math.max(current.pausedUntil, now + Math.min(forMs, longestPauseMs)) }
}

/** The budget as it counts now. Where the store's clock was put back, what was spent stays spent for this minute, and a pause lasts for ten minutes at most. */
function atMinute(known: AccountBudget, now: number): AccountBudget {
  const minute = now - (now % minuteMs)
  const budget = { ...known, pausedUntil: Math.min(known.pausedUntil, now + longestPauseMs) }
  if (budget.minute === minute) return budget
  if (budget.minute > minute) return { ...budget, minute }
  const isNext = budget.minute === minute - minuteMs
  return { ...budget, minute, spent: nothing(), before: isNext ? budget.spent : nothing() }
}

/** Unused borrowed amounts return to the minute they were taken from; use beyond them is added. Earlier minutes no longer count. */
function withReturned(
  budget: AccountBudget,
  { minute, ...left }: NonNullable<BorrowRequest['returned']>,
): AccountBudget {
  const back = { requests: -left.requests, tokens: -left.tokens }
  if (minute === budget.minute) return { ...budget, spent: atLeastZero(sum(budget.spent, back)) }
  if (minute === budget.minute - minuteMs) return { ...budget, before: atLeastZero(sum(budget.before, back)) }
  return budget
}

/** How much of one kind is granted, or how long until what is needed would be. A need above the limit is a need of all of it. */
function dimension(
  kind: keyof Spending,
  limit: number | null,
  { need, want }: BorrowRequest,
  { minute, spent, before }: AccountBudget,
  now: number,
): { readonly granted: number; readonly waitMs: number } {
  const wanted = Math.max(need[kind], want[kind])
  if (limit === null) return { granted: wanted, waitMs: 0 }
  const needed = Math.min(need[kind], limit)
  const elapsedMs = now - minute
  const free = limit - spent[kind] - before[kind] * (1 - elapsedMs / minuteMs)
  if (free >= needed) return { granted: Math.max(needed, Math.min(wanted, Math.floor(free))), waitMs: 0 }
  const inThisMs = whenFree(limit - spent[kind] - needed, before[kind])
  const atMs = inThisMs < minuteMs ? inThisMs : minuteMs + Math.max(0, whenFree(limit - needed, spent[kind]))
  return { granted: 0, waitMs: Math.max(1, Math.ceil(atMs - elapsedMs)) }
}

/** How far into a minute `room` suffices, where the minute before counts with a share that shrinks to nothing. */
function whenFree(room: number, before: number): number {
  return room < 0 || before === 0 ? (room < 0 ? minuteMs : 0) : minuteMs * (1 - room / before)
}

function sum(left: Spending, right: Spending): Spending {
  return { requests: left.requests + right.requests, tokens: left.tokens + right.tokens }
}

function atLeastZero({ requests, tokens }: Spending): Spending {
  return { requests: Math.max(0, requests), tokens: Math.max(0, tokens) }
}
