import { type NewDrain, type NodeState, nodesOf } from '../../store/nodes.ts'
import { type Pause, type PauseTarget, type SteeredBy, steeringOf } from '../../store/steering.ts'
import type { Store } from '../../store/store.ts'
import type { WorkPage, WorkRow } from '../../store/work-rows.ts'

/** A conversation or session that is due, held or quarantined. */
export type ShownWork = WorkRow & { readonly pause: Pause | null }

/** What operators see and steer of a fleet, on a store or over HTTP. */
export type FleetVerbs = {
  nodes(): Promise<NodeState[]>
  work(page: Omit<WorkPage, 'after'>): Promise<ShownWork[]>
  pauses(): Promise<Pause[]>
  pause(target: PauseTarget, by: SteeredBy): Promise<Pause>
  resume(target: PauseTarget, by: SteeredBy): Promise<boolean>
  drain(node: string, drain: NewDrain): Promise<boolean>
  undrain(node: string, by: SteeredBy): Promise<boolean>
}

export function fleetVerbsOf(store: Store): FleetVerbs {
  return {
    nodes: async () => nodesOf(store).list(),
    async work(page) {
      const rows = await nodesOf(store).work(page)
      const pauses = await steeringOf(store).pausesOf(rows.map(({ tenant, id, agent }) => ({ tenant, id, agent })))
      return rows.map((row, index) => ({ ...row, pause: pauses[index] ?? null }))
    },
    pauses: async () => steeringOf(store).pauses(),
    pause: async (target, by) => steeringOf(store).pause(target, by),
    resume: async (target, by) => steeringOf(store).resume(target, by),
    drain: async (node, drain) => nodesOf(store).drain(node, drain),
    undrain: async (node, by) => nodesOf(store).undrain(node, by),
  }
}

/** `answer`: asks a route for operators. */
export function remoteFleetVerbs(
  answer: <T>(method: 'GET' | 'POST', path: string, given: Readonly<Record<string, unknown>>) => Promise<T>,
): FleetVerbs {
  return {
    nodes: async () => (await answer<{ nodes: NodeState[] }>('GET', '/nodes', {})).nodes,
    work: async (page) => (await answer<{ work: ShownWork[] }>('GET', '/work', page)).work,
    pauses: async () => (await answer<{ pauses: Pause[] }>('GET', '/pauses', {})).pauses,
    pause: (target, by) => answer<Pause>('POST', '/pauses', { ...target, ...by }),
    resume: async (target, by) =>
      (await answer<{ resumed: boolean }>('POST', '/pauses/resume', { ...target, ...by })).resumed,
    drain: async (node, drain) =>
      (await answer<{ draining: boolean }>('POST', '/nodes/drain', { node, ...drain })).draining,
    undrain: async (node, by) =>
      (await answer<{ undrained: boolean }>('POST', '/nodes/undrain', { node, ...by })).undrained,
  }
}
