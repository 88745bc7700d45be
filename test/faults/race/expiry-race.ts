import type { TenantStore } from '../../../src/store/store.ts'
import { progress } from '../harness/command.ts'
import { type SeededRandom, seededRandom } from '../harness/seeded-random.ts'
import { openStore, type Target } from '../harness/target.ts'
import type { Finding } from '../harness/verdict.ts'
import { checkAttempts, type Ending, readEndings } from './check-attempts.ts'
import { suspendCalls, type WaitingCall } from './pending-calls.ts'
import type { Attempt } from './resolver-child.ts'
import { startResolver } from './start-resolver.ts'

export type ExpiryRaceSize = { readonly seed: number; readonly calls: number }

const windowMs = 3
const callsPerWave = 50
const firstDeadlineMs = 200
const spacingMs = 4
const patienceMs = 10_000

/**
 * A resolver in another process answers each call within three milliseconds of its deadline. Waves are added until enough attempts were really
 * made that close; all calls of all waves are checked.
 */
export async function expiryRace(target: Target, { seed, calls }: ExpiryRaceSize): Promise<Finding> {
  const random = seededRandom(seed)
  const store = await openStore(target)
  const resolver = await startResolver({ target, who: 'resolver' })
  const violations: string[] = []
  const counts = { calls: 0, atTheDeadline: 0, resolved: 0, expired: 0 }
  try {
    const maxWaves = Math.ceil(calls / callsPerWave) * 4 + 20
    for (let wave = 0; wave < maxWaves && (counts.atTheDeadline < calls || isLopsided(counts)); wave++) {
      const inMs = Array.from({ length: callsPerWave }, (_, index) => firstDeadlineMs + index * spacingMs)
      const suspended = await suspendCalls(store, `expiry${wave}`, inMs)
      const deadlines = await readDeadlines(store, `expiry${wave}`)
      const waiting = suspended.filter(({ callId }) => deadlines.has(callId))
      if (waiting.length === 0) continue
      const offset = (): number => drawOffset(random, counts)
      const tasks = waiting.map((call) => ({ ...call, at: deadlines.get(call.callId)! + offset() }))
      const attempts = await resolver.resolve(tasks)
      const endings = await untilAllEnded(store, waiting)
      violations.push(...checkAttempts(endings, attempts), ...checkDeadlines(endings, deadlines))
      tally(counts, endings, attempts, deadlines)
      if ((wave + 1) % 10 === 0)
        progress(`race ${target.store}: ${counts.atTheDeadline} of ${calls} calls at the deadline`)
    }
  } finally {
    await resolver.stop()
    await store.close()
  }
  const missing: string[] = []
  if (counts.atTheDeadline < calls) missing.push(`only ${counts.atTheDeadline} of ${calls} attempts met the deadline`)
  if (isLopsided(counts)) missing.push('one outcome had less than a tenth')
  return { violations, notExercised: missing, counts }
}

type Tally = { calls: number; atTheDeadline: number; resolved: number; expired: number }

function isLopsided({ atTheDeadline, resolved, expired }: Tally): boolean {
  return Math.min(resolved, expired) * 10 < atTheDeadline
}

/** Somewhere in the window, more often on the side of the outcome that has fallen behind. */
function drawOffset(random: SeededRandom, { atTheDeadline, resolved, expired }: Tally): number {
  const lead = atTheDeadline === 0 ? 0 : (resolved - expired) / atTheDeadline
  // A hair less than the window: an attempt begins a little after its moment.
  const edge = windowMs - 0.3
  return Math.max(-edge, Math.min(edge, (random.next() * 2 - 1 + lead) * windowMs))
}

/** Of the calls that still wait: on a slow machine the first may have ended. */
async function readDeadlines(store: TenantStore, conversation: string): Promise<Map<string, number>> {
  const pending = await store.pendingToolCalls(conversation)
  return new Map(pending.map((call) => [call.id, call.expiresAt!]))
}

async function untilAllEnded(store: TenantStore, waiting: readonly WaitingCall[]): Promise<Map<string, Ending>> {
  const until = Date.now() + patienceMs
  for (;;) {
    const pending = await store.pendingToolCalls(waiting[0]!.conversation)
    if (pending.length === 0) return readEndings(store, waiting)
    if (Date.now() > until) throw new Error(`${pending[0]!.id} was still pending ${patienceMs} ms after its deadline`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** By the store's clock, which stamps the event as it set the deadline. */
function checkDeadlines(endings: ReadonlyMap<string, Ending>, deadlines: ReadonlyMap<string, number>): string[] {
  const violations: string[] = []
  for (const [callId, { resolutions }] of endings) {
    for (const { at, content } of resolutions) {
      const aheadMs = deadlines.get(callId)! - at
      if (content.status === 'expired' && aheadMs > 0) violations.push(`${callId} expired ${aheadMs} ms early`)
    }
  }
  return violations
}

/** Only attempts that were begun within the window count as a race. */
function tally(
  counts: Tally,
  endings: ReadonlyMap<string, Ending>,
  attempts: readonly Attempt[],
  deadlines: ReadonlyMap<string, number>,
): void {
  counts.calls += endings.size
  for (const { callId, begunAt } of attempts) {
    const status = endings.get(callId)?.row.status
    if (Math.abs(begunAt - deadlines.get(callId)!) > windowMs) continue
    counts.atTheDeadline += 1
    if (status === 'expired') counts.expired += 1
    if (status === 'resolved') counts.resolved += 1
  }
}
