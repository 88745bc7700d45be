import { CommandLineError } from '../errors/cli-errors.ts'

/** An option that is a whole number; undefined when it was not given. */
export function countOf(name: string, given: string | undefined, least = 1): number | undefined {
  if (given === undefined) return undefined
  const count = Number(given)
  if (/^\d+$/.test(given) && Number.isSafeInteger(count) && count >= least) return count
  throw new CommandLineError(`--${name} is '${given}', and must be a whole number from ${least} on`)
}
