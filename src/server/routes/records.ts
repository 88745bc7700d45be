import { TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import type { ModelCall, ModelCallRange } from '../../store/model-call.ts'
import { json } from '../answer.ts'
import { existing } from '../existing.ts'
import type { Route, RouteCall } from '../route.ts'
import { limit, object, seq, text } from '../schemas.ts'

export const recordRoutes: readonly Route[] = [
  {
    name: 'listModelCalls',
    method: 'GET',
    path: '/conversations/:id/model-calls',
    summary: 'The model calls that the audit kept, for operators and whoever may read prompts',
    readsPrompts: true,
    query: object({ from: text, skip: seq, limit: limit(1000) }),
    answer: {
      status: 200,
      description:
        'Without the prompts: ask for one of them. `next` asks for the page after this one; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await existing(call)
      const { from, skip = 0, ...bounds } = call.query as ModelCallRange
      const place = from === undefined ? {} : { from, skip }
      const { calls, next } = await pageOfCalls(call, conversation.id, { contexts: false, ...bounds, ...place })
      return json({ modelCalls: calls.map(({ renderedContext: _, ...rest }) => rest), next })
    },
  },
  {
    name: 'getModelCall',
    method: 'GET',
    path: '/conversations/:id/model-calls/:turnRef',
    summary: 'Exactly what the model was given, in each attempt, for operators and whoever may read prompts',
    readsPrompts: true,
    query: object({ skip: seq }),
    answer: {
      status: 200,
      description: 'The attempts of this call. `next` asks for those after these; null when there are none.',
    },
    async handle(call) {
      const { conversation } = await existing(call)
      const turnRef = call.params['turnRef']!
      const { calls, next } = await pageOfCalls(call, conversation.id, { turnRef, ...call.query })
      if (calls.length === 0) throw new TurnNotFoundError(conversation.id, turnRef)
      return json({ attempts: calls, next: next && { skip: next.skip } })
    },
  },
  {
    name: 'explainModelCall',
    method: 'GET',
    path: '/conversations/:id/model-calls/:turnRef/explain',
    summary: 'How each event of the log was in its prompt, and why, for operators and whoever may read prompts',
    readsPrompts: true,
    query: object({ after: seq, limit: limit(1000) }),
    answer: {
      status: 200,
      description:
        'An explanation for each event of the page. `after` asks for the page after this one; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await existing(call)
      const turnRef = call.params['turnRef']!
      const page = await call.verbs.inspect(conversation.id).explain(turnRef, call.query)
      if (!page) throw new TurnNotFoundError(conversation.id, turnRef)
      return json(page)
    },
  },
  {
    name: 'readSnapshot',
    method: 'GET',
    path: '/conversations/:id/snapshot',
    summary: 'The state that was kept of it last',
    answer: { status: 200, description: '`snapshot` is null when there is none.' },
    async handle(call) {
      const { conversation } = await existing(call)
      return json({ snapshot: await call.verbs.inspect(conversation.id).snapshot() })
    },
  },
]

const callsPerPage = 200

type Next = { readonly from: string; readonly skip: number }

/** As many model calls as fit, and where those after them begin. */
async function pageOfCalls(
  { verbs, server }: RouteCall,
  id: string,
  range: ModelCallRange,
): Promise<{ readonly calls: readonly ModelCall[]; readonly next: Next | null }> {
  const { modelCalls } = verbs.inspect(id)
  const calls = await modelCalls({ limit: callsPerPage, maxBytes: server.settings.limits.answerBytes, ...range })
  const last = calls.at(-1)
  if (!last) return { calls, next: null }
  const ofLast = calls.filter(({ turnRef }) => turnRef === last.turnRef).length
  // What was skipped is of the call that the page begins with.
  const isSameCall = (range.turnRef ?? range.from) === last.turnRef
  const skipped = isSameCall ? (range.skip ?? 0) : 0
  const next = { from: last.turnRef, skip: ofLast + skipped }
  const only = range.turnRef === undefined ? {} : { turnRef: range.turnRef }
  const [following] = await modelCalls({ ...next, ...only, limit: 1, contexts: false })
  return { calls, next: following ? next : null }
}
