import { withDeadline } from '../../base/abort.ts'
import { NoSessionError } from '../../base/errors/flow-errors.ts'
import type { Json } from '../../base/json.ts'
import type { FlowSession } from '../../runtime/flow-session.ts'
import { empty, json, truncateToLimit } from '../answer.ts'
import { anything, limit, noBody, object, type Route, type RouteCall, seq, text } from '../route.ts'
import { eventRange, eventsAnswer, forksOf, lineageAnswer, lineageOf, pageOfEvents, pageOfForks } from './pages.ts'

const key = { ...text, description: 'The same key is the same request.' }

const standing = {
  status: 200,
  description: 'Where it stands once it waits for somebody or has ended; `status: running` when that takes long.',
}

export const flowRoutes: readonly Route[] = [
  {
    name: 'startFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/start',
    summary: 'Starts a session',
    body: object({ input: anything, key }),
    answer: standing,
    handle: async (call) => {
      const { input = null, ...options } = call.body as { input?: Json; key?: string }
      return stands(call, (signal) => sessionOf(call).start(input, { ...options, signal }))
    },
  },
  {
    name: 'resumeFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/resume',
    summary: 'Answers what a session waits for',
    body: object({ value: anything, seq, key }, ['value']),
    answer: standing,
    handle: async (call) => {
      const { value, ...options } = call.body as { value: unknown; seq?: number; key?: string }
      return stands(call, (signal) => sessionOf(call).resume(value, { ...options, signal }))
    },
  },
  {
    name: 'continueFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/continue',
    summary: 'Goes on with what the record says is to be done; for forks',
    body: noBody,
    answer: standing,
    handle: async (call) => stands(call, (signal) => sessionOf(call).continue({ signal })),
  },
  {
    name: 'flowStatus',
    method: 'GET',
    path: '/flows/:flow/sessions/:id',
    summary: 'Where a session stands',
    answer: { status: 200, description: 'Its status, all that it waits for, and its result.' },
    async handle(call) {
      const session = sessionOf(call)
      const status = await session.status()
      if (status === 'none') throw new NoSessionError(session.id)
      // Awaited together: one that is awaited after another has failed would reject unheard, and end the process.
      const reads = [session.pending(), session.suspensions(), session.result()] as const
      const [pending, suspensions, result] = await Promise.all(reads)
      return json({ id: session.id, status, pending, suspensions, result })
    },
  },
  {
    name: 'flowRecord',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/record',
    summary: 'What a session consists of',
    query: object({ after: seq }),
    answer: {
      status: 200,
      description:
        'Flow, version, input and the outcomes in their order. `after` asks for those after these; absent when there are none.',
    },
    handle: (call) =>
      truncateToLimit(call, async (maxBytes) => {
        const session = sessionOf(call)
        const record = await session.record({ ...call.query, maxBytes })
        if (!record) throw new NoSessionError(session.id)
        return record
      }),
  },
  {
    name: 'flowEvents',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/events',
    summary: 'The log of a session: onwards from `after`, else the newest',
    query: eventRange,
    answer: pageOfEvents,
    async handle(call) {
      const session = await existingSession(call)
      return eventsAnswer(call, call.verbs.inspect(session.id))
    },
  },
  {
    name: 'flowForks',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/forks',
    summary: 'Its direct copies, the newest first',
    query: object({ before: text, limit: limit(200) }),
    answer: pageOfForks,
    handle: async (call) => forksOf(call, await existingSession(call)),
  },
  {
    name: 'flowLineage',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/lineage',
    summary: 'Where it was forked from, and so on to the first',
    answer: lineageAnswer,
    handle: async (call) => lineageOf(await existingSession(call)),
  },
  {
    name: 'forkFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/fork',
    summary: 'A copy up to `at`, which does nothing by itself',
    body: object({ id: text, at: seq }, ['id']),
    answer: { status: 201, description: 'The id of the copy.' },
    async handle(call) {
      const { id, ...options } = call.body as { id: string; at?: number }
      return json({ id: (await sessionOf(call).fork(id, options)).id }, 201)
    },
  },
  {
    name: 'deleteFlow',
    method: 'DELETE',
    path: '/flows/:flow/sessions/:id',
    summary: 'Removes a session with everything that belongs to it',
    answer: { status: 204, description: 'It is gone.' },
    async handle(call) {
      const session = sessionOf(call)
      if ((await session.status()) === 'none' || !(await session.delete())) throw new NoSessionError(session.id)
      return empty()
    },
  },
]

function sessionOf({ verbs, params }: RouteCall): FlowSession<unknown, Json> {
  return verbs.flow(params['flow']!, params['id']!)
}

async function stands(
  { server, request }: RouteCall,
  reach: (signal: AbortSignal) => Promise<unknown>,
): Promise<Response> {
  return json((await withDeadline(reach, server.settings.limits.waitMs, request.signal)) ?? { status: 'running' })
}

/** Of the flow that the path names: a session of another is none of it. */
async function existingSession(call: RouteCall): Promise<FlowSession<unknown, Json>> {
  const session = sessionOf(call)
  if ((await session.status()) === 'none') throw new NoSessionError(session.id)
  return session
}
