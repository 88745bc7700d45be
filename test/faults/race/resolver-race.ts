import { openStore, type Target } from '../harness/target.ts'
import type { Finding } from '../harness/verdict.ts'
import { checkAttempts, readEndings } from './check-attempts.ts'
import { suspendCalls, type WaitingCall } from './pending-calls.ts'
import type { Attempt } from './resolver-child.ts'
import { startResolver } from './start-resolver.ts'

export type ResolverRaceSize = { readonly processes: number; readonly calls: number }

/** All start on each heat at the same moment; without that, one process would run away from the others. */
const callsPerHeat = 5
const headStartMs = 15

/** Many processes resolve the same calls at the same time. */
export async function resolverRace(target: Target, { processes, calls }: ResolverRaceSize): Promise<Finding> {
  const store = await openStore(target)
  const resolvers = await Promise.all(
    Array.from({ length: processes }, (_, index) => startResolver({ target, who: `resolver${index}` })),
  )
  const waiting: WaitingCall[] = []
  const attempts: Attempt[] = []
  try {
    while (waiting.length < calls) {
      const deadlines = Array.from({ length: Math.min(callsPerHeat, calls - waiting.length) }, () => null)
      const heat = await suspendCalls(store, `race${waiting.length}`, deadlines)
      const at = Date.now() + headStartMs
      const tasks = heat.map((call) => ({ ...call, at }))
      attempts.push(...(await Promise.all(resolvers.map((resolver) => resolver.resolve(tasks)))).flat())
      waiting.push(...heat)
    }
    const endings = await readEndings(store, waiting)
    const won = attempts.filter(({ outcome }) => outcome.type === 'won')
    const losers = attempts.filter(({ outcome }) => outcome.type === 'lost').length
    const events = [...endings.values()].reduce((sum, { resolutions }) => sum + resolutions.length, 0)
    const distinctWinners = new Set(won.map(({ who }) => who)).size
    const contested = countContested(won, attempts)
    const violations = checkAttempts(endings, attempts)
    if (won.length !== calls) violations.push(`${won.length} wins for ${calls} calls`)
    if (losers !== calls * (processes - 1)) violations.push(`${losers} losers instead of ${calls * (processes - 1)}`)
    const missing: string[] = []
    if (distinctWinners < 2) missing.push('one process won everything: there was no race')
    if (contested * 4 < calls) missing.push('fewer than a quarter of the calls had two resolvers at the same time')
    const counts = { processes, calls, wins: won.length, losers, events, distinctWinners, contested }
    return { violations, notExercised: missing, counts }
  } finally {
    await Promise.all(resolvers.map((resolver) => resolver.stop()))
    await store.close()
  }
}

/** Calls that another process had begun to resolve before the winner was acknowledged. */
function countContested(won: readonly Attempt[], attempts: readonly Attempt[]): number {
  const byCall = Map.groupBy(attempts, ({ callId }) => callId)
  const isContested = ({ callId, who, endedAt }: Attempt): boolean =>
    (byCall.get(callId) ?? []).some((other) => other.who !== who && other.begunAt < endedAt)
  return won.filter(isContested).length
}
