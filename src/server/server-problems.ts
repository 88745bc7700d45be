import { unknownKeys } from '../errors/unknown-keys.ts'
import type { ServeOptions } from './serve.ts'
import { defaultLimits } from './server-options.ts'

/** What is wrong with the options of a server. A misspelt `authenticate` must not let everybody in, so unknown keys are. */
export function serverProblems(options: unknown): string[] {
  const { authenticate, rateLimit, limits = {} } = Object(options) as Partial<ServeOptions>
  const problems = unknownKeys(options, Object.keys(known))
  for (const problem of unknownKeys(limits, Object.keys(defaultLimits))) problems.push(`in 'limits', ${problem}`)
  for (const [name, given] of Object.entries({ authenticate, rateLimit })) {
    if (given !== undefined && typeof given !== 'function') problems.push(`'${name}' must be a function`)
  }
  return problems
}

const known: Readonly<Record<keyof ServeOptions, true>> = {
  authenticate: true,
  allowedHosts: true,
  allowedOrigins: true,
  rateLimit: true,
  basePath: true,
  limits: true,
  logger: true,
  port: true,
  host: true,
  localScope: true,
  localTokenFile: true,
}
