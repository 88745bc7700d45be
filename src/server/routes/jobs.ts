import type { BulkRequest, BulkStart } from '../../runtime/bulk/bulk-request.ts'
import { type Bulk, bulkVerbs } from '../../runtime/bulk/bulk-verbs.ts'
import { type JobPage, jobActions } from '../../store/jobs.ts'
import { json } from '../answer.ts'
import { object, type Route, type RouteCall, searched, seq, text } from '../route.ts'

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
