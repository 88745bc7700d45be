import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError, LimitsUnsupportedError } from '../base/errors/store-errors.ts'
import type { Spending } from './budget.ts'
import { checkDuration, checkId, checkWhole } from './checks.ts'
import type { HeldSlots } from './slots.ts'

/**
 * What a store may offer beside its contract, so that nodes share limits: what is spent with each account at a provider, over all tenants, and how many slots are
 * held. A store that offers it also keeps the limits of claims: see `ClaimOptions`.
 */
export type Accounts = {
  /** Borrows requests and tokens of the account's minute for this process, or says how long to wait. A process that ends loses what it has borrowed. */
  borrow(request: BorrowRequest): Promise<Borrowed>
  /** No process borrows for so long: the provider asked to wait. At most 10 minutes. */
  pause(account: string, forMs: number): Promise<void>
  /** How many live leases there are of the tenant, of the agent, and under the account, and whether the conversation has one of them. */
  held(place: SlotPlace): Promise<HeldSlots & { readonly isHeld: boolean }>
}

/** `agent` and `account` null: not counted. */
export type SlotPlace = {
  readonly tenant: string
  readonly id: string
  readonly agent: string | null
  readonly account: string | null
}

/** `limits`: of each minute; null: no limit. `need`: less is not granted; `want`: what is granted where there is so much. */
export type BorrowRequest = {
  readonly account: string
  readonly limits: { readonly requests: number | null; readonly tokens: number | null }
  readonly need: Spending
  readonly want: Spending
  /** The unused part of the last slice, which was borrowed in this minute. Negative: more was used. Null: there was none. */
  readonly returned: (Spending & { readonly minute: number }) | null
}

/** `forMs`: until the slice's minute is over. */
export type Borrowed =
  | (Spending & { readonly type: 'granted'; readonly minute: number; readonly forMs: number })
  | { readonly type: 'wait'; readonly waitMs: number }

/** Throws `LimitsUnsupportedError` where the store has none. */
export function accountsOf(store: { readonly accounts?: Accounts }): Accounts {
  if (!store.accounts) throw new LimitsUnsupportedError()
  return store.accounts
}

/** Checks what callers pass, once for all backends. */
export function checkedAccounts(driver: Accounts): Accounts {
  return {
    borrow: async (request) => driver.borrow(readBorrow(request)),
    async pause(account, forMs) {
      checkId('account', account)
      checkDuration('forMs', forMs)
      await driver.pause(account, forMs)
    },
    async held(input) {
      const { tenant, id, agent, account } = readOptions<SlotPlace, keyof SlotPlace>('place', input, placeNames)
      checkId('tenant', tenant)
      checkId('conversation id', id)
      if (agent !== null && agent !== undefined) checkId('agent', agent)
      if (account !== null && account !== undefined) checkId('account', account)
      return driver.held({ tenant, id, agent: agent ?? null, account: account ?? null })
    },
  }
}

const placeNames = ['tenant', 'id', 'agent', 'account'] as const
const spendingNames = ['requests', 'tokens'] as const
const borrowNames = ['account', 'limits', 'need', 'want', 'returned'] as const

function readBorrow(input: BorrowRequest): BorrowRequest {
  const { account, limits, need, want, returned } = readOptions<BorrowRequest, keyof BorrowRequest>(
    'request',
    input,
    borrowNames,
  )
  checkId('account', account)
  const { requests, tokens } = readOptions<BorrowRequest['limits'], 'requests' | 'tokens'>(
    'limits',
    limits!,
    spendingNames,
  )
  return {
    account,
    limits: { requests: readLimit(requests), tokens: readLimit(tokens) },
    need: readSpending('need', need, 0),
    want: readSpending('want', want, 0),
    returned: returned ? readReturned(returned) : null,
  }
}

function readLimit(limit: number | null | undefined): number | null {
  if (limit === null || limit === undefined) return null
  checkWhole('limits', limit, 1)
  return limit
}

function readReturned(input: NonNullable<BorrowRequest['returned']>): NonNullable<BorrowRequest['returned']> {
  const { minute, ...spending } = readOptions<NonNullable<BorrowRequest['returned']>, 'minute' | 'requests' | 'tokens'>(
    'returned',
    input,
    [...spendingNames, 'minute'],
  )
  checkWhole('returned.minute', minute, 0)
  return { ...readSpending('returned', spending as Spending, -mostSpent), minute }
}

const mostSpent = 2 ** 40

function readSpending(name: string, given: Spending | undefined, least: number): Spending {
  const { requests, tokens } = readOptions<Spending, keyof Spending>(name, given!, spendingNames)
  return {
    requests: readSpent(`${name}.requests`, requests, least),
    tokens: readSpent(`${name}.tokens`, tokens, least),
  }
}

function readSpent(name: string, value: number | undefined, least: number): number {
  checkWhole(name, value, least)
  if (value > mostSpent) throw new InvalidArgumentError(name, `must be at most ${mostSpent}`)
  return value
}
