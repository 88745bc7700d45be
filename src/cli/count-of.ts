import { CommandLineError } from '../base/errors/cli-errors.ts'

/** An option that is a whole number; undefined when it was not given. */
export function countOf(
  name: string,
  given: string | undefined,
  least = 1,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (given === undefined) return undefined
  const count = Number(given)
  if (/^\d+$/.test(given) && count >= least && count <= most) return count
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  throw new CommandLineError(`--${name} is '${given}', and must be a whole number ${range}`)
}
