import { TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { FileNotFoundError } from '../../base/errors/server-errors.ts'
import type { ModelCall, ModelCallRange } from '../../store/records.ts'
import { json, requireConversation } from '../answer.ts'
import { limit, object, type Route, type RouteCall, seq, text } from '../route.ts'

export const recordRoutes: readonly Route[] = [
  {
    name: 'listModelCalls',
    method: 'GET',
    path: '/conversations/:id/model-calls',
    summary: 'The audited model calls, for operators and users who may read prompts',
    readsPrompts: true,
    query: object({ from: text, skip: seq, limit: limit(1000) }),
    answer: {
      status: 200,
      description:
        'Model calls without their prompts. Pass the members of `next` for the next page; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call)
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
    summary: 'The exact prompt of each attempt, for operators and users who may read prompts',
    readsPrompts: true,
    query: object({ skip: seq }),
    answer: {
      status: 200,
      description: 'The attempts of this call. Pass the members of `next` for the next page; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call)
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
    summary: 'How each event appeared in the prompt, and why, for operators and users who may read prompts',
    readsPrompts: true,
    query: object({ after: seq, limit: limit(1000) }),
    answer: {
      status: 200,
      description: 'An explanation of each event on the page. Pass `after` for the next page; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call)
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
    summary: 'The latest snapshot of a conversation',
    answer: { status: 200, description: '`snapshot` is null when there is none.' },
    async handle(call) {
      const { conversation } = await requireConversation(call)
      return json({ snapshot: await call.verbs.inspect(conversation.id).snapshot() })
    },
  },
]

const callsPerPage = 200

type Next = { readonly from: string; readonly skip: number }

/** As many model calls as fit, and where the next page begins. */
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
  // `skip` counts attempts of the call that the page begins with.
  const isSameCall = (range.turnRef ?? range.from) === last.turnRef
  const skipped = isSameCall ? (range.skip ?? 0) : 0
  const next = { from: last.turnRef, skip: ofLast + skipped }
  const only = range.turnRef === undefined ? {} : { turnRef: range.turnRef }
  const [following] = await modelCalls({ ...next, ...only, limit: 1, contexts: false })
  return { calls, next: following ? next : null }
}

export const fileRoutes: readonly Route[] = [
  {
    name: 'readFile',
    method: 'GET',
    path: '/conversations/:id/files/:blob',
    summary: 'A file that a message of the conversation refers to, by its SHA-256',
    answer: { status: 200, description: 'The file.', type: 'application/octet-stream' },
    async handle(call) {
      const { conversation } = await requireConversation(call)
      const blob = call.params['blob']!
      const file = /^[0-9a-f]{64}$/.test(blob) ? await call.verbs.inspect(conversation.id).file(blob) : null
      if (!file) throw new FileNotFoundError(conversation.id)
      return new Response(streamOf(file.pieces), { headers: headersOf(file.mediaType) })
    },
  },
]

/** Reads no faster than the client. */
function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => void (await iterator.return?.()),
    },
    { highWaterMark: 0 },
  )
}

/**
 * The sender of a file chose its type. Only types that a browser displays without running anything are kept. All
 * others, such as HTML and SVG, are downloads.
 */
function headersOf(mediaType: string): Record<string, string> {
  const [type = ''] = mediaType.toLowerCase().split(';')
  return harmless.test(type.trim())
    ? { 'content-type': type.trim(), 'content-disposition': 'inline' }
    : { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' }
}

const harmless =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|(?:audio|video)\/[a-z0-9.+-]{1,60}|text\/plain|application\/pdf)$/
