import { seededRandom } from '../harness/seeded-random.ts'
import { maxAttempts } from './check-case.ts'
import { type FaultPlan, requestFaults, streamFaults } from './fake-provider.ts'
import { type Frame, type ProtocolName, protocols } from './protocols.ts'

/** A plan, and where in an answer its fault is: before the first frame, after a frame of that place, or after the last. For faults instead of a stream, the step. */
export type Placed = { readonly plan: FaultPlan; readonly place: string }

/** How often a fault is met, and what is there then. The order decides what the short form has of a fault at two places. */
const endings = [
  { times: maxAttempts, hasFallback: true },
  { times: 1, hasFallback: false },
  { times: maxAttempts, hasFallback: false },
  { times: 2, hasFallback: false },
] as const

/** Every case of a protocol. */
export function plansOf(protocol: ProtocolName): Placed[] {
  const healthy = { protocol, step: 1, fault: null, position: 0, times: 0, finish: 'done', hasFallback: false } as const
  const plans = (['done', 'length', 'filtered'] as const).map((finish): Placed => {
    return { plan: { ...healthy, finish }, place: finish }
  })
  for (const step of [0, 1] as const) {
    const frames = framesOf(protocol, step)
    for (const ending of endings) {
      for (const fault of requestFaults)
        plans.push({ plan: { ...healthy, ...ending, step, fault }, place: `step ${step}` })
      for (const fault of streamFaults) {
        for (let position = 0; position <= frames.length; position++)
          plans.push({ plan: { ...healthy, ...ending, step, fault, position }, place: placeOf(frames, position) })
      }
    }
  }
  return plans
}

/**
 * `rounds` cases, and at least one of each fault at each place: the seed decides which. A fault meets its places with each ending in turn, so that each fault is
 * also met once, always, and with a fallback model.
 */
export function drawn(plans: readonly Placed[], { seed, rounds }: { seed: number; rounds?: number }): Placed[] {
  if (rounds === undefined) return [...plans]
  const random = seededRandom(seed)
  const chosen = [...Map.groupBy(plans, ({ plan }) => plan.fault).values()].flatMap((ofFault) =>
    [...Map.groupBy(ofFault, ({ place }) => place).values()].map((atPlace, index) => {
      const { times, hasFallback } = endings[index % endings.length]!
      const fitting = atPlace.filter(({ plan }) => plan.times === times && plan.hasFallback === hasFallback)
      return random.pick(fitting.length > 0 ? fitting : atPlace)
    }),
  )
  while (chosen.length < rounds) chosen.push(random.pick(plans))
  return chosen
}

function framesOf(protocol: ProtocolName, step: 0 | 1): readonly Frame[] {
  const call = step === 0 ? { id: '', name: '', pieces: ['', '', ''] } : null
  return protocols[protocol].frames({ reasoning: '', texts: ['', '', ''], finish: 'done', call })
}

function placeOf(frames: readonly Frame[], position: number): string {
  if (position === frames.length) return 'after'
  return frames[position - 1]?.place ?? 'before'
}
