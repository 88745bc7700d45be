import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { checkDuration, checkHolder, checkId, checkSuspects, checkWhole, readList } from './checks.ts'
import type { Acquire } from './driver.ts'
import type { AccountSlots, DueLimits, SlotLimits } from './slots.ts'
import type { DueWorkQuery } from './store.ts'

/** What a search asks for: the agents that the caller has code for, without duplicates, and its limits. */
export function readDueWork(input: DueWorkQuery): DueWorkQuery {
  const { agents, limit, suspects, leaseMs, limits } = readOptions('query', input, dueWorkNames)
  checkWhole('limit', limit, 1)
  if (suspects !== undefined) checkWhole('suspects', suspects, 0)
  if (leaseMs !== undefined) checkDuration('leaseMs', leaseMs)
  const names = readList('agents', agents!)
  for (const name of names) checkId('agent', name)
  return {
    agents: names,
    limit,
    ...(suspects === undefined ? {} : { suspects }),
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(limits === undefined ? {} : { limits: readDueLimits(limits) }),
  }
}

const dueWorkNames = ['agents', 'limit', 'suspects', 'leaseMs', 'limits'] as const

type Asked = {
  readonly holder: string
  readonly ttlMs: number
  readonly suspects?: boolean | undefined
  readonly limits?: SlotLimits | undefined
}

/** What a claim asks for, with the defaults filled in. */
export function readAcquire({ holder, ttlMs, suspects, limits }: Asked): Acquire {
  checkHolder(holder)
  checkDuration('ttlMs', ttlMs)
  checkSuspects(suspects)
  return { holder, ttlMs, suspects: suspects ?? true, limits: limits ? readSlotLimits(limits) : noLimits }
}

/** Of a claim without limits. */
const noLimits: SlotLimits = {}

/** Checks the limits of a claim. */
function readSlotLimits(input: SlotLimits): SlotLimits {
  const { tenant, agent, account } = readOptions('limits', input, ['tenant', 'agent', 'account'])
  if (tenant !== undefined) checkWhole('limits.tenant', tenant, 1)
  if (agent !== undefined) checkWhole('limits.agent', agent, 1)
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(agent === undefined ? {} : { agent }),
    ...(account === undefined ? {} : { account: readAccount(account) }),
  }
}

function readAccount(input: AccountSlots): AccountSlots {
  const { name, turns } = readOptions<AccountSlots, keyof AccountSlots>('limits.account', input, ['name', 'turns'])
  checkId('account', name)
  if (turns !== undefined) checkWhole('limits.account.turns', turns, 1)
  return { name, ...(turns === undefined ? {} : { turns }) }
}

/** Checks the limits of a search. */
export function readDueLimits(input: DueLimits): DueLimits {
  const { tenant, agents } = readOptions<DueLimits, keyof DueLimits>('limits', input, ['tenant', 'agents'])
  if (tenant !== undefined && typeof tenant !== 'function') checkWhole('limits.tenant', tenant, 1)
  if (!(agents instanceof Map)) throw new InvalidArgumentError('limits.agents', 'must be a Map of limits by agent')
  const read = [...agents].map(([name, limits]): [string, SlotLimits] => [name, readSlotLimits(limits)])
  return { ...(tenant === undefined ? {} : { tenant }), agents: new Map(read) }
}
