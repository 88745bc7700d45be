import type { BulkRequest, BulkStart } from '../../runtime/bulk/bulk-request.ts'
import { type Bulk, bulkVerbs } from '../../runtime/bulk/bulk-verbs.ts'
import { type JobPage, jobActions } from '../../store/jobs.ts'
import { nodesOf } from '../../store/nodes.ts'
import { type PauseTarget, type SteeredBy, type SteeringPage, steeringOf } from '../../store/steering.ts'
import type { WorkPage, WorkState } from '../../store/work-rows.ts'
import { json } from '../answer.ts'
import { limit, object, type Route, type RouteCall, searched, seq, text } from '../route.ts'

const byMembers = {
  who: { ...text, description: "Who asks. Default: 'operator'." },
  reason: { type: 'string', maxLength: 1_000 },
}
const target = {
  agent: { ...text, description: 'All of this agent in every tenant; a flow is `flow:<name>`.' },
  tenant: { ...text, description: "All of this tenant; with `conversation`, its tenant. Default then: 'default'." },
  conversation: text,
}
const ofNode = object({ node: text, drainMs: { ...seq, description: 'Default: 10,000.' }, ...byMembers }, ['node'])
const page = object({
  before: { ...seq, minimum: 1, description: 'The id of the last one of the previous page.' },
  limit: { ...limit(1_000), description: 'Default: 100.' },
})

/** Operator routes: the processes of the whole store, what they work on, and how they are steered. */
export const fleetRoutes: readonly Route[] = [
  {
    name: 'listNodes',
    method: 'GET',
    path: '/nodes',
    summary: 'The processes that work on the store or serve it, for operators',
    isForOperators: true,
    answer: { status: 200, description: '`nodes`, the oldest first.' },
    handle: async (call) => json({ nodes: await nodesOf(storeIn(call)).list() }),
  },
  {
    name: 'drainNode',
    method: 'POST',
    path: '/nodes/drain',
    summary: 'Has a node take no more work and hand over what it holds, for operators',
    isForOperators: true,
    body: ofNode,
    answer: { status: 200, description: '`draining`: false when there is no such node.' },
    async handle(call) {
      const { node, drainMs = 10_000, ...by } = call.body as NodeBody
      return json({ draining: await nodesOf(storeIn(call)).drain(node, { ...steeredBy(by), drainMs }) })
    },
  },
  {
    name: 'undrainNode',
    method: 'POST',
    path: '/nodes/undrain',
    summary: 'Lets a node that drains work again, for operators',
    isForOperators: true,
    body: object({ node: text, ...byMembers }, ['node']),
    answer: { status: 200, description: '`undrained`: false when it does not drain.' },
    async handle(call) {
      const { node, ...by } = call.body as NodeBody
      return json({ undrained: await nodesOf(storeIn(call)).undrain(node, steeredBy(by)) })
    },
  },
  {
    name: 'listWork',
    method: 'GET',
    path: '/work',
    summary: 'What is due, held or quarantined in any tenant, the oldest first, for operators',
    isForOperators: true,
    query: object({
      state: { enum: ['due', 'held', 'quarantined'], description: 'Default: due.' },
      agent: { ...text, description: 'Only of this agent.' },
      limit: { ...limit(1_000), description: 'Default: 100.' },
      afterAt: { ...seq, description: 'With `afterTenant` and `afterId`: the last row of the previous page.' },
      afterTenant: text,
      afterId: text,
    }),
    answer: { status: 200, description: '`work`: rows with their age, lease, lapses and pause.' },
    async handle(call) {
      const store = storeIn(call)
      const work = await nodesOf(store).work(workPage(call.query as WorkQuery))
      const pauses = store.steering ? await store.steering.pausesOf(work.map(rowOf)) : []
      return json({ work: work.map((row, index) => ({ ...row, pause: pauses[index] ?? null })) })
    },
  },
  {
    name: 'listPauses',
    method: 'GET',
    path: '/pauses',
    summary: 'What is paused, the newest first, for operators',
    isForOperators: true,
    query: page,
    answer: { status: 200, description: '`pauses`: each with who paused it, when and why.' },
    handle: async (call) => json({ pauses: await steeringOf(storeIn(call)).pauses(call.query as SteeringPage) }),
  },
  {
    name: 'pause',
    method: 'POST',
    path: '/pauses',
    summary: 'Has no process work on an agent, a tenant or a conversation, for operators',
    isForOperators: true,
    body: object({ ...target, ...byMembers }),
    answer: { status: 200, description: 'The pause; the first one, where it is paused already.' },
    async handle(call) {
      const { who, reason, ...what } = call.body as PauseBody
      return json(await steeringOf(storeIn(call)).pause(what as PauseTarget, steeredBy({ who, reason })))
    },
  },
  {
    name: 'resume',
    method: 'POST',
    path: '/pauses/resume',
    summary: 'Ends a pause, for operators',
    isForOperators: true,
    body: object({ ...target, ...byMembers }),
    answer: { status: 200, description: '`resumed`: false when it is not paused.' },
    async handle(call) {
      const { who, reason, ...what } = call.body as PauseBody
      const resumed = await steeringOf(storeIn(call)).resume(what as PauseTarget, steeredBy({ who, reason }))
      return json({ resumed })
    },
  },
  {
    name: 'listSteering',
    method: 'GET',
    path: '/steering',
    summary: 'Who paused, resumed, drained and undrained what, the newest first, for operators',
    isForOperators: true,
    query: page,
    answer: { status: 200, description: '`acts`: the newest 1,000 are kept.' },
    handle: async (call) => json({ acts: await steeringOf(storeIn(call)).acts(call.query as SteeringPage) }),
  },
]

type By = { readonly who?: string | undefined; readonly reason?: string | undefined }
type NodeBody = By & { readonly node: string; readonly drainMs?: number }
type PauseBody = By & Readonly<Record<'agent' | 'tenant' | 'conversation', string | undefined>>
type WorkQuery = {
  readonly state?: WorkState
  readonly agent?: string
  readonly limit?: number
  readonly afterAt?: number
  readonly afterTenant?: string
  readonly afterId?: string
}

/** Operator routes exist only with `upkeep`. */
function storeIn({ server }: RouteCall) {
  return server.settings.upkeep!.store
}

function steeredBy({ who = 'operator', reason }: By): SteeredBy {
  return { who, ...(reason === undefined ? {} : { reason }) }
}

function workPage({ afterAt, afterTenant, afterId, ...rest }: WorkQuery): WorkPage {
  if (afterAt === undefined && afterTenant === undefined && afterId === undefined) return rest
  return { ...rest, after: { at: afterAt ?? 0, tenant: afterTenant ?? 'default', id: afterId ?? '' } }
}

function rowOf({ tenant, id, agent }: { readonly tenant: string; readonly id: string; readonly agent: string | null }) {
  return { tenant, id, agent }
}

const request = {
  action: { enum: jobActions },
  tenant: { ...text, description: "Default: 'default'." },
  filter: object({
    agent: text,
    owner: text,
    status: text,
    text: searched,
    olderThanMs: seq,
    ended: { type: 'array', items: text, minItems: 1, maxItems: 4 },
  }),
  force: { type: 'boolean', description: 'Of retry: also past tools that may have had an effect. Default: false.' },
  perSecond: { type: 'integer', minimum: 1, maximum: 1_000, description: 'Default: 50.' },
}

/** Operator routes: bulk jobs over many conversations of a tenant. */
export const jobRoutes: readonly Route[] = [
  {
    name: 'listJobs',
    method: 'GET',
    path: '/store/jobs',
    summary: 'The bulk jobs and how far they are, the newest first, for operators',
    isForOperators: true,
    query: object({
      before: { ...text, description: 'The id of the last one of the previous page.' },
      limit: { type: 'integer', minimum: 1, maximum: 1_000, description: 'Default: 100.' },
    }),
    answer: { status: 200, description: '`jobs`.' },
    handle: async (call) => json({ jobs: await bulkIn(call).list(call.query as JobPage) }),
  },
  {
    name: 'getJob',
    method: 'GET',
    path: '/store/jobs/:id',
    summary: 'A bulk job and how far it is, for operators',
    isForOperators: true,
    answer: { status: 200, description: '`job`: null when there is none.' },
    handle: async (call) => json({ job: await bulkIn(call).get(call.params['id']!) }),
  },
  {
    name: 'startJob',
    method: 'POST',
    path: '/store/jobs',
    summary: 'Cancels, retries or unquarantines many conversations of a tenant, for operators',
    isForOperators: true,
    body: object({ ...request, id: text, who: text }, ['action']),
    answer: { status: 200, description: '`job`. The same `id` is the same job.' },
    handle: async (call) => json({ job: await bulkIn(call).start(call.body as BulkStart) }),
  },
  {
    name: 'countJob',
    method: 'POST',
    path: '/store/jobs/count',
    summary: 'How many conversations a bulk job would look at, for operators',
    isForOperators: true,
    body: object(request, ['action']),
    answer: { status: 200, description: '`matches`, and `isPartial` where only the newest were looked at.' },
    handle: async (call) => json(await bulkIn(call).count(call.body as BulkRequest)),
  },
  {
    name: 'stopJob',
    method: 'POST',
    path: '/store/jobs/:id/stop',
    summary: 'Stops a bulk job after the conversations under way, for operators',
    isForOperators: true,
    body: object({}),
    answer: { status: 200, description: '`stopped`: false when it has ended, or there is none.' },
    handle: async (call) => json({ stopped: await bulkIn(call).stop(call.params['id']!) }),
  },
]

/** Operator routes exist only with `upkeep`. */
function bulkIn({ server }: RouteCall): Bulk {
  return bulkVerbs(server.settings.upkeep!.store)
}
