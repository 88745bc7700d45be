import { unknownKeys } from '../base/errors/read-options.ts'
import type { ServeOptions } from './serve.ts'
import { defaultLimits, type UpkeepOptions } from './server-options.ts'

/**
 * Lists what is wrong with the options of a server. Unknown keys are problems, because a misspelt `authenticate` must
 * not leave a server open.
 */
export function serverProblems(options: unknown): string[] {
  const {
    authenticate,
    rateLimit,
    limits = {},
    turnOptions,
    callerSchemas,
    upkeep,
    showErrors,
    showPrompts,
    studio,
  } = Object(options) as Partial<ServeOptions>
  const problems = unknownKeys(options, Object.keys(known))
  for (const problem of unknownKeys(limits, Object.keys(defaultLimits))) problems.push(`in 'limits', ${problem}`)
  if (turnOptions !== undefined && typeof turnOptions !== 'boolean')
    problems.push("'turnOptions' must be true or false")
  if (callerSchemas !== undefined && typeof callerSchemas !== 'boolean') {
    problems.push("'callerSchemas' must be true or false")
  }
  if (upkeep !== undefined) {
    for (const problem of unknownKeys(upkeep, Object.keys(knownOfUpkeep))) problems.push(`in 'upkeep', ${problem}`)
    if (typeof upkeep?.store !== 'object' || upkeep.store === null)
      problems.push("'upkeep.store' must be the store of the runtime")
    const { operatorToken } = upkeep
    if (operatorToken !== undefined && (typeof operatorToken !== 'string' || operatorToken.trim() === ''))
      problems.push(
        "'upkeep.operatorToken' is empty or not a string, so anyone could know it; set it to a long random string",
      )
  }
  const isOperator = upkeep?.isOperator
  for (const [name, given] of Object.entries({ authenticate, rateLimit, 'upkeep.isOperator': isOperator })) {
    if (given !== undefined && typeof given !== 'function') problems.push(`'${name}' must be a function`)
  }
  // A string such as 'false' must not count as true.
  if (showErrors !== undefined && typeof showErrors !== 'boolean') problems.push("'showErrors' must be true or false")
  if (showPrompts !== undefined && typeof showPrompts !== 'boolean' && typeof showPrompts !== 'function')
    problems.push("'showPrompts' must be true, false or a function")
  if (studio !== undefined && typeof studio !== 'boolean') problems.push("'studio' must be true or false")
  return problems
}

/** `upkeep` without any way to be an operator is a mistake. */
export function operatorProblems(options: unknown): string[] {
  const { upkeep } = Object(options) as Partial<ServeOptions>
  if (!upkeep || upkeep.isOperator || upkeep.operatorToken !== undefined) return []
  return [
    "'upkeep' has no 'isOperator', so no caller could use it; pass (request) => boolean, operatorToken, or localTokenFile to serve",
  ]
}

const known: Readonly<Record<keyof ServeOptions, true>> = {
  authenticate: true,
  allowedHosts: true,
  allowedOrigins: true,
  rateLimit: true,
  basePath: true,
  limits: true,
  turnOptions: true,
  callerSchemas: true,
  logger: true,
  showErrors: true,
  showPrompts: true,
  studio: true,
  port: true,
  host: true,
  localScope: true,
  localTokenFile: true,
  upkeep: true,
}

const knownOfUpkeep: Readonly<Record<keyof UpkeepOptions, true>> = {
  store: true,
  isOperator: true,
  operatorToken: true,
  agents: true,
  metrics: true,
}
