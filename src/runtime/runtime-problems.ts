import { unknownKeys } from '../base/errors/unknown-keys.ts'
import { isAgent } from '../define/is-agent.ts'
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
