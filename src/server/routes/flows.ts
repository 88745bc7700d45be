import { withDeadline } from '../../base/abort.ts'
import { NoSessionError } from '../../base/errors/flow-errors.ts'
import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import type { Json } from '../../base/json.ts'
import type { FlowSession } from '../../runtime/flow-session.ts'
import type { SessionFilter } from '../../runtime/read/lists.ts'
import { empty, json, pageOf, traceOfRequest, truncateToLimit } from '../answer.ts'
import { eventStreamHeaders, sessionStream } from '../live/subscription.ts'
import { anything, emptyBody, limit, object, type Route, type RouteCall, searched, seq, text } from '../route.ts'
import {
  countOf,
  eventRange,
  eventsAnswer,
  forksOf,
  lineageAnswer,
  lineageOf,
  pageOfEvents,
  pageOfForks,
  sessionEntry,
} from './pages.ts'

const key = { ...text, description: 'A repeated key repeats the request without effect.' }

const standing = {
  status: 200,
  description:
    'The state of the session once it waits for input, sleeps or has ended; `status: running` when that takes longer, with `elsewhere` when another process has to continue it.',
}

const pageOfSessions = 50

export const flowRoutes: readonly Route[] = [
  {
    name: 'listFlows',
    method: 'GET',
    path: '/flows',
    summary: 'The flows whose code this server has',
    answer: { status: 200, description: 'Their names, each with its versions, the newest last.' },
    handle: async ({ verbs }) => json({ flows: await verbs.flows() }),
  },
  {
    name: 'listSessions',
    method: 'GET',
    path: '/sessions',
    summary: 'Sessions of flows, newest first',
    query: object({
      flow: text,
      owner: { ...text, description: 'Only sessions that this user started.' },
      status: { enum: ['running', 'waiting', 'sleeping', 'dormant', 'done', 'failed'] },
      text: searched,
      before: text,
      limit: limit(200),
    }),
    answer: {
      status: 200,
      description:
        'Pass `before` for the next page; null when there is none. The first page has `total` where more follow and only `owner` and `status` are asked for.',
    },
    async handle(call) {
      const filter = call.query as SessionFilter
      const { items, ...rest } = await pageOf(
        call,
        pageOfSessions,
        (page) => call.verbs.sessions({ ...filter, ...page }),
        () => countOf(call, ({ sessions }) => sessions),
      )
      return json({ sessions: items.map(sessionEntry), ...rest })
    },
  },
  {
    name: 'startFlow',
    method: 'POST',
    path: '/flows/:flow/sessions/:id/start',
    summary: 'Starts a session',
    body: object({ input: anything, key }),
    answer: standing,
    handle: async (call) => {
      const { input = null, ...options } = call.body as { input?: Json; key?: string }
      const traced = { ...options, ...traceOfRequest(call.request) }
      return standingWithinLimit(call, (signal) => sessionOf(call).start(input, { ...traced, signal }))
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
    answer: { status: 200, description: 'Its status, everything it waits for, when it wakes, and its result.' },
    async handle(call) {
      const session = sessionOf(call)
      const status = await session.status()
      if (status === 'none') throw new NoSessionError(session.id)
      // Awaited together: if one failed before the next was awaited, the next rejection would be unhandled and end the
      // process.
      const reads = [session.pending(), session.suspensions(), session.wakeAt(), session.result()] as const
      const [pending, suspensions, wakeAt, result] = await Promise.all(reads)
      return json({ id: session.id, status, pending, suspensions, wakeAt, result })
    },
  },
  {
    name: 'flowOutcome',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/outcome',
    summary: 'The state of a session that waits for input or has ended',
    waits: true,
    query: object({ waitMs: { ...seq, description: 'How long to wait for it. Default: 0.' } }),
    answer: { status: 200, description: 'Its state, or `status: running` when the time is up.' },
    async handle(call) {
      const { waitMs = 0 } = call.query as { waitMs?: number }
      const session = await requireSession(call)
      return standingWithinLimit(call, (signal) => session.outcome({ signal }), waitMs)
    },
  },
  {
    name: 'flowLive',
    method: 'GET',
    path: '/flows/:flow/sessions/:id/live',
    summary: 'The events of a session as they are committed, from the first or after the last event id',
    query: object({
      after: { ...text, description: 'Like the header last-event-id, which takes precedence: a seq.' },
    }),
    answer: {
      status: 200,
      description: 'Server-sent events. The stream ends with the session.',
      type: 'text/event-stream',
    },
    async handle(call) {
      const after = seqAfter(call)
      const session = await requireSession(call)
      if (call.request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders })
      return sessionStream(call, session, after)
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
    summary:
      'Copies a session up to the event `at`; the copy is dormant until it is continued, or continues at once with `run`',
    body: object({ id: text, at: seq, run: { type: 'boolean', description: 'Default: false.' } }, ['id']),
    answer: { status: 201, description: 'The id of the copy.' },
    async handle(call) {
      const { id, ...options } = call.body as { id: string; at?: number; run?: boolean }
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
  waitMs = Number.POSITIVE_INFINITY,
): Promise<Response> {
  const most = Math.min(waitMs, server.settings.limits.waitMs)
  return json((await withDeadline(reach, most, request.signal)) ?? { status: 'running' })
}

function seqAfter({ request, query }: RouteCall): number {
  const given = request.headers.get('last-event-id') || (query['after'] as string | undefined) || '0'
  const after = /^\d{1,15}$/.test(given) ? Number(given) : null
  if (after === null) throw new InvalidRequestError('event id', 'it is not the seq of an event')
  return after
}

/** The list entry of a session. The text of a problem may quote the record. */
/** A session of another flow counts as missing. */
async function requireSession(call: RouteCall): Promise<FlowSession<unknown, Json>> {
  const session = sessionOf(call)
  if ((await session.status()) === 'none') throw new NoSessionError(session.id)
  return session
}
