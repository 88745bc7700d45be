import { systemClock } from '../base/clock.ts'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { numberProblems, unknownKeys } from '../base/errors/read-options.ts'
import { consoleLogger } from '../base/logger.ts'
import { redactingLogger } from '../base/redact/redacting-logger.ts'
import { createRedactor } from '../base/redact/redactor.ts'
import { createSigner, secretProblems } from '../base/signer.ts'
import { type Agent, isAgent } from '../define/agent.ts'
import { isSubscriber, type Subscriber, subscriberOf } from '../define/define-subscriber.ts'
import { FlowRegistry } from '../engine/flow/flow-registry.ts'
import type { LimitSettings } from '../engine/limits/turn-limits.ts'
import type { NodeSettings } from '../engine/node.ts'
import { observerOf } from '../engine/observer.ts'
import { Snapshots } from '../snapshot/snapshots.ts'
import { accountsOf } from '../store/accounts.ts'
import { checkDuration, checkWhole, isId } from '../store/checks.ts'
import type { RuntimeOptions } from './runtime.ts'

/** The settings of a node, with the defaults filled in. Throws `DefinitionError` naming everything that is wrong with the options. */
export function readRuntimeOptions(options: RuntimeOptions): NodeSettings {
  const problems = runtimeProblems(options)
  if (problems.length > 0) throw new DefinitionError('The runtime', problems)
  const { store, clock = systemClock, logger: given = consoleLogger } = options
  const { tenant, who, restoreScope } = options
  const redact = createRedactor({ redact: options.redact, logger: given, clock })
  const logger = redactingLogger(given, redact)
  const { leaseMs = 10_000, pollMs = 500, maxConcurrentTurns = 256, missingToolMs = 600_000 } = options
  const { persistence, persistTimeoutMs: timeoutMs = 5_000 } = options
  for (const [name, ms] of Object.entries({ leaseMs, pollMs, persistTimeoutMs: timeoutMs })) checkDuration(name, ms)
  checkDuration('missingToolMs', missingToolMs, 0)
  checkWhole('maxConcurrentTurns', maxConcurrentTurns, 1)
  const limits = readLimits(options.limits)
  const agents = agentsByName(options.agents)
  if (needsAccounts(limits, [...agents.values()])) accountsOf(store)
  return {
    store,
    clock,
    logger,
    redact,
    leaseMs,
    pollMs,
    maxConcurrentTurns,
    missingToolMs,
    observer: observerOf(options.observe, logger),
    signer: createSigner(options.secret),
    liveBus: options.liveBus === undefined ? (store.liveBus ?? null) : options.liveBus,
    scope: { tenant, who, restoreScope },
    agents,
    limits,
    addressable: new Map(options.agents.map((agent) => [agent.name, agent])),
    flows: new FlowRegistry(options.flows ?? []),
    snapshots: persistence ? new Snapshots(persistence, { clock, logger, timeoutMs }) : null,
  }
}

/** What is wrong with the options of a runtime. Unknown keys are: with a misspelt `tenant`, all users would share one tenant. */
export function runtimeProblems(options: unknown): string[] {
  const { agents, store } = Object(options) as Partial<RuntimeOptions>
  const problems = unknownKeys(options, runtimeOptionNames)
  if (!Array.isArray(agents)) problems.push("'agents' must be a list of what defineAgent returns")
  else if (!agents.every(isAgent)) problems.push("'agents' has something that defineAgent did not return")
  if (typeof Object(store).onWake !== 'function') {
    problems.push("'store' must be a store, as in memoryStore() or sqliteStore({ path })")
  }
  for (const name of ['tenant', 'who', 'restoreScope', 'authorize', 'redact'] as const) {
    const given = (Object(options) as Partial<RuntimeOptions>)[name]
    if (given !== undefined && typeof given !== 'function') problems.push(`'${name}' must be a function`)
  }
  const { tenant, who, restoreScope } = Object(options) as Partial<RuntimeOptions>
  if ((tenant || who) && restoreScope === undefined) {
    const given = [...(tenant ? ["'tenant'"] : []), ...(who ? ["'who'"] : [])].join(' and ')
    problems.push(
      `'restoreScope' is missing: with ${given}, only your code can rebuild a scope from what is stored of it`,
    )
  }
  const { subscribers = [] } = Object(options) as Partial<RuntimeOptions>
  if (!Array.isArray(subscribers) || !subscribers.every(isSubscriber))
    problems.push("'subscribers' must be a list of what defineSubscriber or webhook returns")
  const { observe = [] } = Object(options) as Partial<RuntimeOptions>
  if (![observe].flat().every((observer) => typeof Object(observer).observe === 'function'))
    problems.push("'observe' must be an observer, as in await telemetry(), or a list of them")
  if (Array.isArray(agents) && agents.every(isAgent))
    problems.push(
      ...limitProblems(
        (Object(options) as Partial<RuntimeOptions>).limits,
        withChildren(agents as unknown as readonly Agent[]),
      ),
    )
  const { liveBus = null } = Object(options) as Partial<RuntimeOptions>
  if (liveBus !== null && typeof Object(liveBus).join !== 'function')
    problems.push("'liveBus' must be a bus, or null for none")
  problems.push(...secretProblems('secret', (Object(options) as Partial<RuntimeOptions>).secret))
  return problems
}

const known: Readonly<Record<keyof RuntimeOptions, true>> = {
  agents: true,
  flows: true,
  store: true,
  tenant: true,
  who: true,
  restoreScope: true,
  authorize: true,
  persistence: true,
  persistTimeoutMs: true,
  logger: true,
  redact: true,
  observe: true,
  subscribers: true,
  secret: true,
  liveBus: true,
  clock: true,
  work: true,
  maxConcurrentTurns: true,
  limits: true,
  leaseMs: true,
  pollMs: true,
  missingToolMs: true,
  auditTtlMs: true,
}

export const runtimeOptionNames = Object.keys(known) as readonly (keyof RuntimeOptions)[]

/** For checks before it is known that names are unique. */
function withChildren(agents: readonly Agent[]): Agent[] {
  const all = new Set(agents)
  for (const agent of all) for (const tool of agent.tools) if (tool.executor === 'agent') all.add(tool.agent as Agent)
  return [...all]
}

/** The agents of a runtime, with those that their tools start. Callers may only name the former. */
export function agentsByName(agents: readonly Agent[]): Map<string, Agent> {
  const named = new Map<string, Agent>()
  const add = (agent: Agent): void => {
    const known = named.get(agent.name)
    if (known === agent) return
    if (known)
      throw new DefinitionError('The runtime', [`two agents are named '${agent.name}'; give each its own name`])
    named.set(agent.name, agent)
    // What a tool of the executor `agent` refers to was made by `defineAgent`, or the tool would have been refused.
    for (const tool of agent.tools) if (tool.executor === 'agent') add(tool.agent as Agent)
  }
  for (const agent of agents) add(agent)
  return named
}

/** The subscribers of a runtime, with the after-hooks of its agents. */
export function allSubscribers({ subscribers = [], agents }: RuntimeOptions): Subscriber[] {
  const ofAgents = [...agentsByName(agents).values()].flatMap(({ name, afterHooks }) =>
    afterHooks.map((hook) => subscriberOf(name, hook)),
  )
  const all = [...subscribers, ...ofAgents]
  const names = all.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new DefinitionError('The runtime', [`two subscribers are named '${twice}'; give each its own name`])
  return all
}

type Given = { readonly [key: string]: unknown }

const accountNumbers = { turns: 1, requestsPerMinute: 1, tokensPerMinute: 1 }

/** The most accounts that one runtime names. */
const mostAccounts = 1_000

/** What is wrong with `limits` of a runtime. An account that no agent has is: with a misspelt name, nothing would be limited. */
function limitProblems(limits: unknown, agents: readonly Agent[]): string[] {
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
function readLimits({ turnsPerTenant, accounts = {} }: LimitSettings = {}): LimitSettings {
  const copied = Object.entries(accounts).map(([name, limits]) => [name, Object.freeze({ ...limits })] as const)
  return { ...(turnsPerTenant === undefined ? {} : { turnsPerTenant }), accounts: Object.fromEntries(copied) }
}

/** Whether the store must be able to keep limits. */
function needsAccounts({ turnsPerTenant }: LimitSettings, agents: readonly Agent[]): boolean {
  return turnsPerTenant !== undefined || agents.some(({ limits, account }) => limits.turns !== null || account !== null)
}
