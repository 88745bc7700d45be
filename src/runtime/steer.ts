import { readOptions } from '../base/errors/read-options.ts'
import type { NodeHeartbeat } from '../engine/lease/node-heartbeat.ts'
import type { KnownPauses } from '../store/known-pauses.ts'
import { nodesOf } from '../store/nodes.ts'
import { type SteeredBy, steeringOf } from '../store/steering.ts'
import type { WorkRow } from '../store/work-rows.ts'
import type { Runtime, Work } from './runtime.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** How long a node that drains works on what it holds. */
const defaultDrainMs = 10_000

type SteeringVerbs = Pick<
  Runtime,
  'nodes' | 'work' | 'drain' | 'undrain' | 'pause' | 'resume' | 'pauses' | 'steeringActs'
>

/** What operators see and steer of a fleet. */
export function steeringVerbs(
  { node: { store, holder, pauses }, assertOpen }: RuntimeContext,
  heartbeat: Pick<NodeHeartbeat, 'hurry'>,
): SteeringVerbs {
  return {
    nodes: async () => nodesOf(store).list(),
    work: async (page) => workWithPauses(nodesOf(store).work(page), pauses),
    async drain(of, given) {
      assertOpen()
      const { drainMs = defaultDrainMs, ...by } = readOptions('options', given, ['who', 'reason', 'drainMs'])
      const isKnown = await nodesOf(store).drain(of, { ...steeredBy(by), drainMs })
      if (of === holder) await heartbeat.hurry()
      return isKnown
    },
    async undrain(of, given) {
      assertOpen()
      const wasDraining = await nodesOf(store).undrain(of, steeredBy(readOptions('options', given, ['who', 'reason'])))
      if (of === holder) await heartbeat.hurry()
      return wasDraining
    },
    async pause(target, given) {
      assertOpen()
      const pause = await steeringOf(store).pause(target, steeredBy(readOptions('options', given, ['who', 'reason'])))
      pauses.forget()
      return pause
    },
    async resume(target, given) {
      assertOpen()
      return steeringOf(store).resume(target, steeredBy(readOptions('options', given, ['who', 'reason'])))
    },
    pauses: async (page) => steeringOf(store).pauses(page),
    steeringActs: async (page) => steeringOf(store).acts(page),
  }
}

/** Each with its pause, even if another process set it a moment ago. */
async function workWithPauses(reading: Promise<WorkRow[]>, pauses: KnownPauses): Promise<Work[]> {
  const rows = await reading
  const found = await pauses.of(rows)
  return rows.map((row, index) => ({ ...row, pause: found[index] ?? null }))
}

function steeredBy({ who = 'system', reason }: Partial<SteeredBy>): SteeredBy {
  return { who, ...(reason === undefined ? {} : { reason }) }
}
