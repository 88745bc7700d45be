import type { Store } from '../../src/store/store.ts'
import type { Attempt } from './try-hostile.ts'

/** The places where a store may be given something. */
export type Attempts = (store: Store) => Attempt[]

export const jobs: Attempts = (store) => {
  const jobs = store.jobs!
  const job = { id: 'j', tenant: 'default', action: 'cancel' as const, who: 'w', spec: null }
  const progress = { done: 0, skipped: 0, failed: 0, report: null, cursor: null, leaseMs: 1_000 }
  const scan = { tenant: 'default', filter: {}, at: null, after: null, limit: 1 }
  return [
    (hostile) => jobs.start(hostile, 1),
    (hostile) => jobs.start(job, hostile),
    (hostile) => jobs.start({ ...job, id: hostile }, 1),
    (hostile) => jobs.start({ ...job, tenant: hostile }, 1),
    (hostile) => jobs.start({ ...job, action: hostile }, 1),
    (hostile) => jobs.start({ ...job, who: hostile }, 1),
    (hostile) => jobs.start({ ...job, spec: hostile }, 1),
    (hostile) => jobs.get(hostile),
    (hostile) => jobs.list(hostile),
    (hostile) => jobs.list({ before: hostile }),
    (hostile) => jobs.list({ limit: hostile }),
    (hostile) => jobs.stop(hostile),
    (hostile) => jobs.claim(hostile),
    (hostile) => jobs.settle(hostile, 1, progress),
    (hostile) => jobs.settle('j', hostile, progress),
    (hostile) => jobs.settle('j', 1, hostile),
    (hostile) => jobs.settle('j', 1, { ...progress, done: hostile }),
    (hostile) => jobs.settle('j', 1, { ...progress, cursor: hostile }),
    (hostile) => jobs.settle('j', 1, { ...progress, report: hostile }),
    (hostile) => jobs.settle('j', 1, { ...progress, leaseMs: hostile }),
    (hostile) => jobs.scan(hostile),
    (hostile) => jobs.scan({ ...scan, filter: hostile }),
    (hostile) => jobs.scan({ ...scan, filter: { statuses: hostile } }),
    (hostile) => jobs.scan({ ...scan, filter: { text: hostile } }),
    (hostile) => jobs.scan({ ...scan, at: hostile }),
    (hostile) => jobs.scan({ ...scan, after: hostile }),
    (hostile) => jobs.scan({ ...scan, limit: hostile }),
  ]
}

export const nodes: Attempts = (store) => {
  const nodes = store.nodes!
  const node = {
    ...{ holder: 'h', version: '1', works: true, capacity: 1, agents: ['a'], agentCount: 1, everyMs: 1_000 },
    drain: { who: 'w', at: 1, reason: null, drainMs: 1 },
  }
  return [
    (hostile) => nodes.beat(hostile),
    (hostile) => nodes.beat({ ...node, holder: hostile }),
    (hostile) => nodes.beat({ ...node, version: hostile }),
    (hostile) => nodes.beat({ ...node, works: hostile }),
    (hostile) => nodes.beat({ ...node, capacity: hostile }),
    (hostile) => nodes.beat({ ...node, agents: hostile }),
    (hostile) => nodes.beat({ ...node, agents: [hostile] }),
    (hostile) => nodes.beat({ ...node, agentCount: hostile }),
    (hostile) => nodes.beat({ ...node, everyMs: hostile }),
    (hostile) => nodes.beat({ ...node, drain: hostile }),
    (hostile) => nodes.beat({ ...node, drain: { ...node.drain, who: hostile } }),
    (hostile) => nodes.leave(hostile),
    (hostile) => nodes.work(hostile),
    (hostile) => nodes.work({ state: hostile }),
    (hostile) => nodes.work({ limit: hostile }),
    (hostile) => nodes.work({ after: hostile }),
    (hostile) => nodes.workOf(hostile, 'c'),
    (hostile) => nodes.workOf('t', hostile),
    (hostile) => nodes.drain(hostile, { who: 'w', drainMs: 1 }),
    (hostile) => nodes.drain('h', hostile),
    (hostile) => nodes.drain('h', { who: hostile, drainMs: 1 }),
    (hostile) => nodes.drain('h', { who: 'w', drainMs: hostile }),
    (hostile) => nodes.drain('h', { who: 'w', drainMs: 1, reason: hostile }),
    (hostile) => nodes.undrain(hostile, { who: 'w' }),
    (hostile) => nodes.undrain('h', hostile),
    (hostile) => nodes.undrain('h', { who: hostile }),
  ]
}

export const steering: Attempts = (store) => {
  const steering = store.steering!
  const by = { who: 'w' }
  return [
    (hostile) => steering.pause(hostile, by),
    (hostile) => steering.pause({ agent: hostile }, by),
    (hostile) => steering.pause({ tenant: hostile }, by),
    (hostile) => steering.pause({ conversation: hostile }, by),
    (hostile) => steering.pause({ conversation: 'c', tenant: hostile }, by),
    (hostile) => steering.pause({ agent: 'a' }, hostile),
    (hostile) => steering.pause({ agent: 'a' }, { who: hostile }),
    (hostile) => steering.pause({ agent: 'a' }, { who: 'w', reason: hostile }),
    (hostile) => steering.resume(hostile, by),
    (hostile) => steering.resume({ agent: hostile }, by),
    (hostile) => steering.resume({ agent: 'a' }, hostile),
    (hostile) => steering.pauses(hostile),
    (hostile) => steering.pauses({ before: hostile }),
    (hostile) => steering.pauses({ limit: hostile }),
    (hostile) => steering.pausesOf(hostile),
    (hostile) => steering.pausesOf([hostile]),
    (hostile) => steering.pausesOf([{ tenant: hostile, id: 'c', agent: null }]),
    (hostile) => steering.acts(hostile),
    (hostile) => steering.acts({ limit: hostile }),
  ]
}
