import { numberProblems, unknownKeys } from '../base/errors/read-options.ts'
import type { Agent } from '../define/agent.ts'
import type { LimitSettings } from '../engine/limits/turn-limits.ts'
import { isId } from '../store/checks.ts'

type Given = { readonly [key: string]: unknown }

const accountNumbers = { turns: 1, requestsPerMinute: 1, tokensPerMinute: 1 }

/** The most accounts that one runtime names. */
const mostAccounts = 1_000

/** What is wrong with `limits` of a runtime. An account that no agent has is: with a misspelt name, nothing would be limited. */
export function limitProblems(limits: unknown, agents: readonly Agent[]): string[] {
  if (limits === undefined) return []
  const problems = unknownKeys(limits, ['turnsPerTenant', 'accounts'])
  const { turnsPerTenant, accounts = {} } = Object(limits) as Given
  if (typeof turnsPerTenant !== 'function') problems.push(...numberProblems({ turnsPerTenant }, { turnsPerTenant: 1 }))
  if (typeof accounts !== 'object' || accounts === null || Array.isArray(accounts)) {
    problems.push("'accounts' must be an object, as in { openai: { requestsPerMinute: 500 } }")
  } else problems.push(...accountsProblems(accounts as Given, agents))
  return problems.map((problem) => `'limits': ${problem}`)
}

function accountsProblems(accounts: Given, agents: readonly Agent[]): string[] {
  const used = new Set(agents.flatMap(({ account }) => account ?? []))
  const names = Object.keys(accounts)
  if (names.length > mostAccounts)
    return [`'accounts' has ${names.length} accounts; at most ${mostAccounts} are allowed`]
  return names.flatMap((name) => {
    const own = Object(accounts[name]) as Given
    const problems = [
      ...unknownKeys(accounts[name], Object.keys(accountNumbers)),
      ...numberProblems(own, accountNumbers),
    ]
    if (!isId(name)) problems.push('the name must have 1 to 255 bytes without control characters')
    else if (!used.has(name)) {
      const known = used.size > 0 ? `the agents have ${[...used].join(', ')}` : "no agent has an 'account'"
      problems.push(`no agent has this account: ${known}`)
    }
    return problems.map((problem) => `account '${name}': ${problem}`)
  })
}

/** A copy that later changes by the caller do not reach. */
export function readLimits({ turnsPerTenant, accounts = {} }: LimitSettings = {}): LimitSettings {
  const copied = Object.entries(accounts).map(([name, limits]) => [name, Object.freeze({ ...limits })] as const)
  return { ...(turnsPerTenant === undefined ? {} : { turnsPerTenant }), accounts: Object.fromEntries(copied) }
}

/** Whether the store must be able to keep limits. */
export function needsAccounts({ turnsPerTenant }: LimitSettings, agents: readonly Agent[]): boolean {
  return turnsPerTenant !== undefined || agents.some(({ limits, account }) => limits.turns !== null || account !== null)
}
