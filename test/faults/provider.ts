import { type CommandOptions, runCommand } from './harness/command.ts'
import { openStore } from './harness/target.ts'
import { type Finding, judge, type Verdict } from './harness/verdict.ts'
import { type Place, withTarget } from './harness/with-target.ts'
import { requestFaults, startFakeProvider, streamFaults } from './provider/fake-provider.ts'
import { drawn, type Placed, plansOf } from './provider/plans.ts'
import { type ProtocolName, protocols } from './provider/protocols.ts'
import { runCase } from './provider/run-case.ts'

export type ProviderOptions = Place & Pick<CommandOptions, 'seed' | 'rounds'>

/** How many cases run side by side: many of them wait for a stream that stalls. */
const atOnce = 24

/**
 * A provider that stalls, resets, truncates and fails at every position of a stream, for one attempt or for all: the turn ends truthfully or is tried again,
 * within the limits, a fallback model takes over where there is one, and nothing is committed twice. `rounds`: how many cases of each protocol, drawn by the seed, with
 * each fault at each place of an answer. Default: all of them.
 */
export async function provider(options: ProviderOptions): Promise<Verdict> {
  const { store, seed, rounds } = options
  return judge(
    { program: 'provider', store, seed },
    (Object.keys(protocols) as ProtocolName[]).map((protocol) => ({
      name: protocol,
      find: () => misbehave(options, drawn(plansOf(protocol), { seed, ...(rounds === undefined ? {} : { rounds }) })),
    })),
  )
}

async function misbehave(place: Place, plans: readonly Placed[]): Promise<Finding> {
  return withTarget(place, async (target) => {
    const store = await openStore(target)
    const fake = await startFakeProvider()
    const violations: string[] = []
    const counts = { cases: plans.length, requests: 0, fallbacks: 0, discarded: 0, completed: 0, failed: 0 }
    const exercised = new Set<string>()
    const takenOver = new Set<string>()
    const queue = [...plans.entries()]
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [index, { plan }] = next
        const { seen, problems } = await runCase(`case-${index}`, plan, { provider: fake, store })
        violations.push(...problems.map((problem) => `${JSON.stringify(plan)}: ${problem}`))
        counts.requests += seen.requests[0] + seen.requests[1]
        counts.fallbacks += seen.fallbacks[0] + seen.fallbacks[1]
        counts.discarded += seen.events.filter(({ type }) => type === 'attempt_discarded').length
        if (seen.outcome.status === 'completed' || seen.outcome.status === 'failed') counts[seen.outcome.status] += 1
        if (seen.requests[plan.step] > 1) exercised.add(plan.fault ?? '')
        if (seen.fallbacks[plan.step] > 0) takenOver.add(plan.fault ?? '')
      }
    }
    try {
      await Promise.all(Array.from({ length: atOnce }, worker))
    } finally {
      await fake.close()
      await store.close()
    }
    const lacking = (met: ReadonlySet<string>): string[] =>
      [...streamFaults, ...requestFaults].filter((fault) => !met.has(fault))
    return {
      violations,
      counts,
      notExercised: [
        ...lacking(exercised).map((fault) => `${fault} was never followed by another attempt`),
        ...lacking(takenOver).map((fault) => `${fault} was never followed by the fallback model`),
      ],
    }
  })
}

await runCommand(import.meta, provider)
