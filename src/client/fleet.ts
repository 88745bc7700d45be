import { readOptions } from '../base/errors/read-options.ts'
import type { Runtime, Work } from '../runtime/runtime.ts'
import type { NodeState } from '../store/nodes.ts'
import type { Pause, PauseTarget, SteeringAct } from '../store/steering.ts'
import type { WorkPage } from '../store/work-rows.ts'
import { type ClientOptions, givenOptions, requestJson } from './request.ts'

/** What operators see and steer of a fleet, as in the runtime. `who` is 'operator' where it is not given. */
export type RemoteFleet = Pick<
  Runtime,
  'nodes' | 'work' | 'drain' | 'undrain' | 'pause' | 'resume' | 'pauses' | 'steeringActs'
> & {
  /** Has processes work again on a conversation or session that is quarantined. False: it is not. Default of `tenant`: 'default'. */
  unquarantine(quarantined: { readonly id: string; readonly tenant?: string }): Promise<boolean>
}

/** The verbs of a fleet behind a server. */
export function remoteFleet(settings: ClientOptions): RemoteFleet {
  const get = <T>(path: string, query: object): Promise<T> => requestJson<T>(settings, path, { query })
  const post = <T>(path: string, body: () => object): Promise<T> =>
    requestJson<T>(settings, path, { method: 'POST', body })
  return {
    nodes: async () => (await get<{ nodes: NodeState[] }>('/nodes', {})).nodes,
    async work(page) {
      const { after, ...rest } = readOptions<WorkPage, keyof WorkPage>('page', page, [
        'state',
        'agent',
        'limit',
        'after',
      ])
      const { at, tenant, id } = readOptions('after', after, ['at', 'tenant', 'id'])
      const place = { afterAt: at, afterTenant: tenant, afterId: id }
      return (await get<{ work: Work[] }>('/work', { ...rest, ...place })).work
    },
    async drain(node, given) {
      const { who, reason, drainMs } = readOptions('options', given, ['who', 'reason', 'drainMs'])
      return (await post<{ draining: boolean }>('/nodes/drain', () => ({ node, who, reason, drainMs }))).draining
    },
    async undrain(node, given) {
      const by = readOptions('options', given, byNames)
      return (await post<{ undrained: boolean }>('/nodes/undrain', () => ({ node, ...by }))).undrained
    },
    async pause(target, given) {
      const what = readTarget(target)
      const by = readOptions('options', given, byNames)
      return post<Pause>('/pauses', () => ({ ...what, ...by }))
    },
    async resume(target, given) {
      const what = readTarget(target)
      const by = readOptions('options', given, byNames)
      return (await post<{ resumed: boolean }>('/pauses/resume', () => ({ ...what, ...by }))).resumed
    },
    pauses: async (page) => (await get<{ pauses: Pause[] }>('/pauses', givenOptions('page', page))).pauses,
    async unquarantine(quarantined) {
      const { id, tenant } = readOptions('quarantined', quarantined, ['id', 'tenant'])
      return (await post<{ unquarantined: boolean }>('/store/unquarantine', () => ({ id, tenant }))).unquarantined
    },
    steeringActs: async (page) => (await get<{ acts: SteeringAct[] }>('/steering', givenOptions('page', page))).acts,
  }
}

const byNames = ['who', 'reason'] as const

type TargetMembers = { readonly agent?: string; readonly tenant?: string; readonly conversation?: string }

function readTarget(target: PauseTarget): TargetMembers {
  return readOptions<TargetMembers, keyof TargetMembers>('target', target ?? null, ['agent', 'tenant', 'conversation'])
}
