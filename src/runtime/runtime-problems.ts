import { DefinitionError } from '../base/errors/definition-errors.ts'
import { unknownKeys } from '../base/errors/read-given.ts'
import { type Agent, isAgent } from '../define/agent.ts'
import type { RuntimeOptions } from './runtime.ts'

/** What is wrong with the options of a runtime. A misspelt `tenant` must not become one wall for everybody, so unknown keys are. */
export function runtimeProblems(options: unknown): string[] {
  const { agents, store } = Object(options) as Partial<RuntimeOptions>
  const problems = unknownKeys(options, runtimeOptionNames)
  if (!Array.isArray(agents)) problems.push("'agents' must be a list of what defineAgent returns")
  else if (!agents.every(isAgent)) problems.push("'agents' has something that defineAgent did not return")
  if (typeof Object(store).onWake !== 'function') {
    problems.push("'store' must be a store, as in memoryStore() or sqliteStore({ path })")
  }
  for (const name of ['tenant', 'who', 'restoreScope', 'redact'] as const) {
    const given = (Object(options) as Partial<RuntimeOptions>)[name]
    if (given !== undefined && typeof given !== 'function') problems.push(`'${name}' must be a function`)
  }
  return problems
}

const known: Readonly<Record<keyof RuntimeOptions, true>> = {
  agents: true,
  flows: true,
  store: true,
  tenant: true,
  who: true,
  restoreScope: true,
  persistence: true,
  persistTimeoutMs: true,
  logger: true,
  redact: true,
  clock: true,
  work: true,
  maxConcurrentTurns: true,
  leaseMs: true,
  pollMs: true,
  missingToolMs: true,
  auditTtlMs: true,
}

export const runtimeOptionNames = Object.keys(known) as readonly (keyof RuntimeOptions)[]

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
