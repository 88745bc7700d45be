import { runCommand } from './harness/command.ts'
import { judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'
import { expiryRace } from './race/expiry-race.ts'
import { resolverRace } from './race/resolver-race.ts'

export type RaceOptions = Place & {
  readonly seed: number
  readonly processes?: number
  readonly calls?: number
  /** How many calls are answered at their deadline. Default: 2,000. */
  readonly rounds?: number
}

/** Everybody answers at once; one wins, and the others are told who. */
export async function race(options: RaceOptions): Promise<Verdict> {
  const { store, seed, processes = 16, calls = 500, rounds = 2000 } = options
  return judge({ program: 'race', store, seed }, [
    { name: 'resolvers', find: () => withTarget(options, (target) => resolverRace(target, { processes, calls })) },
    { name: 'expiry', find: () => withTarget(options, (target) => expiryRace(target, { seed, calls: rounds })) },
  ])
}

await runCommand(import.meta, race)
