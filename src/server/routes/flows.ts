import { withDeadline } from '../../base/abort.ts'
import { NoSessionError } from '../../base/errors/flow-errors.ts'
import type { Json } from '../../base/json.ts'
import type { FlowSession } from '../../runtime/flow-session.ts'
import { empty, json, truncateToLimit } from '../answer.ts'
import { anything, emptyBody, limit, object, type Route, type RouteCall, seq, text } from '../route.ts'
import { eventRange, eventsAnswer, forksOf, lineageAnswer, lineageOf, pageOfEvents, pageOfForks } from './pages.ts'

const key = { ...text, description: 'A repeated key repeats the request without effect.' }

const standing = {
  status: 200,
  description:
    'The state of the session once it waits for input or has ended; `status: running` when that takes longer.',
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
      return standingWithinLimit(call, (signal) => sessionOf(call).start(input, { ...options, signal }))
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
      return standingWithinLimit(call, (signal) => sessionOf(call).resume(value, { ...options, signal }))
    },
  },
  {
    name: 'continueFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/continue',
    summary: 'Continues with the next step of the record; for forks',
    body: emptyBody,
    answer: standing,
    handle: async (call) => standingWithinLimit(call, (signal) => sessionOf(call).continue({ signal })),
  },
  {
    name: 'flowStatus',
    method: 'GET',
    path: '/flows/:flow/sessions/:id',
    summary: 'The state of a session',
    answer: { status: 200, description: 'Its status, everything it waits for, and its result.' },
    async handle(call) {
      const session = sessionOf(call)
      const status = await session.status()
      if (status === 'none') throw new NoSessionError(session.id)
      // Awaited together: if one failed before the next was awaited, the next rejection would be unhandled and end the
      // process.
      const reads = [session.pending(), session.suspensions(), session.result()] as const
      const [pending, suspensions, result] = await Promise.all(reads)
      return json({ id: session.id, status, pending, suspensions, result })
    },
  },
  {
    name: 'flowRecord',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/record',
    summary: 'The record of a session',
    query: object({ after: seq }),
    answer: {
      status: 200,
      description:
        'Flow, version, input and outcomes in order. Pass `after` for the next page; absent when there is none.',
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
    summary: 'The log of a session: events after `after`, or the newest',
    query: eventRange,
    answer: pageOfEvents,
    async handle(call) {
      const session = await requireSession(call)
      return eventsAnswer(call, call.verbs.inspect(session.id))
    },
  },
  {
    name: 'flowForks',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/forks',
    summary: 'The direct forks of a session, newest first',
    query: object({ before: text, limit: limit(200) }),
    answer: pageOfForks,
    handle: async (call) => forksOf(call, await requireSession(call)),
  },
  {
    name: 'flowLineage',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/lineage',
    summary: 'The sessions it was forked from, back to the first',
    answer: lineageAnswer,
    handle: async (call) => lineageOf(await requireSession(call)),
  },
  {
    name: 'forkFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/fork',
    summary: 'Copies a session up to the event `at`; the copy does nothing until it is continued',
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
    summary: 'Deletes a session and everything that belongs to it',
    answer: { status: 204, description: 'It was deleted.' },
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

async function standingWithinLimit(
  { server, request }: RouteCall,
  reach: (signal: AbortSignal) => Promise<unknown>,
): Promise<Response> {
  return json((await withDeadline(reach, server.settings.limits.waitMs, request.signal)) ?? { status: 'running' })
}

/** A session of another flow counts as missing. */
async function requireSession(call: RouteCall): Promise<FlowSession<unknown, Json>> {
  const session = sessionOf(call)
  if ((await session.status()) === 'none') throw new NoSessionError(session.id)
  return session
}
