import { inspect } from 'node:util'
import { errorCodes } from '../../src/base/errors/codes.ts'
import { PerdureError } from '../../src/base/errors/perdure-error.ts'
import { hostileValues } from './hostile-values.ts'

/** Calls something of the public surface with one value, in one place of its arguments. */
export type Attempt = (hostile: never) => unknown

const patienceMs = 10_000

/** Tries all values in all places: each must succeed, or fail with an error that has a code. Tells what did neither. */
export async function tryHostile(attempts: readonly Attempt[]): Promise<string[]> {
  const broken: string[] = []
  for (const [place, attempt] of attempts.entries()) {
    for (const [name, make] of hostileValues) {
      const problem = await problemOf(() => attempt(make() as never))
      if (problem !== null) broken.push(`place ${place}, ${name}: ${problem}`)
    }
  }
  return broken
}

async function problemOf(work: () => unknown): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), patienceMs)
  })
  try {
    return (await Promise.race([Promise.resolve(work()), late])) === 'late' ? 'it never came back' : null
  } catch (error) {
    if (PerdureError.isInstance(error) && error.code in errorCodes && typeof error.message === 'string') return null
    return shown(error)
  } finally {
    clearTimeout(timer)
  }
}

function shown(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 4).join(' | ') : inspect(error)
  } catch {
    return 'something that cannot be shown'
  }
}
