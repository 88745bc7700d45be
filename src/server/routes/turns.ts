import { withDeadline } from '../../base/abort.ts'
import { TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { SchemaNotAllowedError, TurnOptionsNotAllowedError } from '../../base/errors/server-errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { outcomeOf, type TurnOutcome } from '../../engine/live/turn-outcome.ts'
import type { MessageInput, RetryOptions, SendOptions } from '../../engine/turn-options.ts'
import { seqOfFlowCall } from '../../log/flow-questions.ts'
import { findTurn } from '../../log/state.ts'
import { stateWeight } from '../../log/trim-state.ts'
import type { AnswerOptions } from '../../runtime/answer-call.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { InboxFilter } from '../../store/store.ts'
import { GrowingView } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { json, pageOf, requireConversation, traceOfRequest } from '../answer.ts'
import { withinByteBudget } from '../byte-budget.ts'
import { anything, limit, object, type Route, type RouteCall, round, seq, text } from '../route.ts'
import { countOf } from './pages.ts'

const pageOfCalls = 50
const longestMs = 3_155_760_000_000
const key = { ...text, description: 'A repeated key repeats the answer: a retry gets `accepted` again.' }
const digest = {
  type: 'string',
  minLength: 64,
  maxLength: 64,
  description:
    'The `digest` of the item that was shown. When the call has other arguments, that is `arguments_changed`.',
}
const force = {
  type: 'boolean',
  description: 'Also where a tool was started that must not be repeated by itself; otherwise that is `force_needed`.',
}
const answered = {
  status: 200,
  description: '`accepted`, or the answer that came first, with its sender and time.',
}

export const callRoutes: readonly Route[] = [
  {
    name: 'inbox',
    method: 'GET',
    path: '/inbox',
    summary: 'All calls and questions of sessions that wait for an answer, newest first',
    query: object({
      owner: { ...text, description: 'Only calls of conversations that this user opened.' },
      before: text,
      limit: limit(200),
    }),
    answer: {
      status: 200,
      description:
        'Pass `before` for the next page; null when there is none. The first page has `total` where more follow.',
    },
    handle: async (call) =>
      json(
        await pageOf(
          call,
          pageOfCalls,
          (page) => call.verbs.inbox({ ...(call.query as InboxFilter), ...page }),
          () => countOf(call, ({ inbox }) => ({ waiting: inbox.waiting })),
        ),
      ),
  },
  {
    name: 'approveCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/approve',
    summary: 'Approves a gated call, optionally with other arguments',
    body: object({ args: anything, round, key, digest }),
    answer: answered,
    async handle(call) {
      const { args } = call.body as { args?: unknown }
      const { conversation } = await requireConversation(call, 'approve', { call: refOf(call), args })
      return json(
        await conversation.approve(refOf(call), { ...optionsOf(call), ...(args === undefined ? {} : { args }) }),
      )
    },
  },
  {
    name: 'denyCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/deny',
    summary: 'Denies a gated call',
    body: object({ reason: text, round, key, digest }),
    answer: answered,
    async handle(call) {
      const { conversation } = await requireConversation(call, 'deny', { call: refOf(call) })
      const { reason } = call.body as { reason?: string }
      const options = { ...optionsOf(call), ...(reason === undefined ? {} : { reason }) }
      return json(await conversation.deny(refOf(call), options))
    },
  },
  {
    name: 'answerCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/answer',
    summary: 'Answers a question, a client tool or an interrupted call',
    body: object({ value: anything, round, key, digest }, ['value']),
    answer: answered,
    async handle(call) {
      const { conversation } = await requireConversation(call, 'answer', { call: refOf(call) })
      return json(await conversation.answer(refOf(call), (call.body as { value: unknown }).value, optionsOf(call)))
    },
  },
  {
    name: 'resolveCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/resolve',
    summary: 'Answers any item of the inbox: true or false for an approval, otherwise the requested value',
    body: object({ value: anything, round, key, digest }, ['value']),
    answer: answered,
    async handle(call) {
      const id = call.params['id']!
      const { value } = call.body as { value: unknown }
      try {
        return json(await call.verbs.resolve(id, refOf(call), value, optionsOf(call)))
      } catch (error) {
        // A question of a session is answered where it is listed.
        if (seqOfFlowCall(id, call.params['callId']!) === null) await requireConversation(call, 'read')
        throw error
      }
    },
  },
  {
    name: 'extendDeadline',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/deadline',
    summary: 'Moves the deadline of a waiting call to some time from now, or takes it away',
    body: object({ expiresInMs: { anyOf: [limit(longestMs), { type: 'null' }] }, round }, ['expiresInMs']),
    answer: {
      status: 200,
      description: '`accepted` with the deadline in `expiresAt`, or the answer or expiry that came first.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'extendDeadline', { call: refOf(call) })
      const { expiresInMs } = call.body as { expiresInMs: number | null }
      return json(await conversation.extendDeadline(refOf(call), { expiresInMs }))
    },
  },
]

function optionsOf({ body }: RouteCall): AnswerOptions {
  const { key: given, digest: shown } = body as AnswerOptions
  return { ...(given === undefined ? {} : { key: given }), ...(shown === undefined ? {} : { digest: shown }) }
}

function refOf({ params, body }: RouteCall): { callId: string; round?: number } {
  const { round: given } = body as { round?: number }
  return { callId: params['callId']!, ...(given === undefined ? {} : { round: given }) }
}

const part: JsonObject = {
  oneOf: [
    object({ type: { const: 'text' }, text: { type: 'string' } }, ['type', 'text']),
    object(
      {
        type: { const: 'file' },
        mediaType: text,
        filename: text,
        data: { ...text, description: 'An http, https or data: URL of the file.' },
      },
      ['type', 'mediaType', 'data'],
    ),
  ],
}

const messageSchema: JsonObject = {
  description: 'Text, or a list of parts.',
  anyOf: [text, { type: 'array', items: part, minItems: 1, maxItems: 100 }],
}

export const turnRoutes: readonly Route[] = [
  {
    name: 'sendMessage',
    method: 'POST',
    path: '/conversations/:id/messages',
    summary: 'Appends a message, and creates the conversation if it does not exist',
    body: object(
      {
        message: messageSchema,
        agent: { ...text, description: 'Required for the first message.' },
        key: {
          ...text,
          description: 'A repeated key returns the same turn. May be sent as the header idempotency-key.',
        },
        whenBusy: { enum: ['reject', 'queue', 'interrupt', 'steer'] },
        replaces: { ...text, description: 'The turn that the message takes the place of, with all after it.' },
        force,
        output: {
          anyOf: [{ type: 'object' }, { const: false }],
          description: "A JSON Schema, if the server has `callerSchemas`; false turns off the agent's.",
        },
        untilTool: text,
        maxSteps: { ...limit(1_000_000), description: "At most the agent's limit." },
        maxTokens: { ...limit(Number.MAX_SAFE_INTEGER), description: "At most the agent's limit." },
        data: { ...anything, description: 'Any JSON, recorded with the message; `turn.data` of hooks and tools.' },
      },
      ['message'],
    ),
    answer: { status: 202, description: 'The message is durable; its turn continues by itself.' },
    async handle({ verbs, params, body, request, server }) {
      const { message, agent, ...options } = body as SendBody
      if (!server.settings.turnOptions) refuseTurnOptions(options)
      if (options.output && !server.settings.callerSchemas) throw new SchemaNotAllowedError('output')
      const key = options.key ?? request.headers.get('idempotency-key') ?? undefined
      const id = params['id']!
      const conversation = agent === undefined ? verbs.conversation(id) : verbs.conversation(id, { agent })
      const given = { ...options, ...(key === undefined ? {} : { key }), ...traceOfRequest(request) }
      const turn = await conversation.send(message, given)
      return json({ turnId: turn.turnId }, 202)
    },
  },
  {
    name: 'retryTurn',
    method: 'POST',
    path: '/conversations/:id/retry',
    summary: 'Sends the messages of a turn again, in its place: of the newest, or of the one named',
    body: object({ turnId: text, key, force }),
    answer: { status: 202, description: 'The messages are durable; their turn continues by itself.' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'send')
      const { turnId, ...options } = call.body as { turnId?: string } & RetryOptions
      const turn = await conversation.retry(turnId, { ...options, ...traceOfRequest(call.request) })
      return json({ turnId: turn.turnId }, 202)
    },
  },
  {
    name: 'turnOutcome',
    method: 'GET',
    path: '/conversations/:id/turns/:turnId/outcome',
    summary: 'The outcome of a turn that has ended or waits for input',
    waits: true,
    query: object({ waitMs: { ...seq, description: 'How long to wait for it. Default: 0.' } }),
    answer: { status: 200, description: 'The outcome, or `status: running` when the time is up.' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'read')
      const { waitMs = 0 } = call.query as { waitMs?: number }
      const turnId = call.params['turnId']!
      const most = Math.min(waitMs, call.server.settings.limits.waitMs)
      return (await outcomeWithin(call, conversation, turnId, most)) ?? json({ status: 'running', turnId })
    },
  },
  {
    name: 'cancelTurn',
    method: 'POST',
    path: '/conversations/:id/cancel',
    summary: 'Cancels the open turn, or the named one',
    body: object({ turnId: text }),
    answer: {
      status: 200,
      description: 'Its outcome; null when no turn was open; `terminating` when that takes longer.',
    },
    async handle(call: RouteCall) {
      return cancelOpenTurn(call, (await requireConversation(call, 'cancel')).conversation)
    },
  },
]

export async function cancelOpenTurn(
  { body, server, request }: RouteCall,
  conversation: Conversation,
): Promise<Response> {
  const cancel = async (signal: AbortSignal) => ({
    outcome: await conversation.cancel({ ...(body as { turnId?: string }), signal }),
  })
  const ended = await withDeadline(cancel, server.settings.limits.waitMs, request.signal)
  return json(ended ?? { outcome: { status: 'terminating' } })
}

type SendBody = SendOptions & { readonly message: MessageInput; readonly agent?: string }

function refuseTurnOptions(options: SendOptions): void {
  const given = (['output', 'untilTool', 'maxSteps', 'maxTokens'] as const).filter((name) => name in options)
  if (given.length > 0) throw new TurnOptionsNotAllowedError(given)
}

/**
 * The outcome of a turn that ended or waits for input, as soon as there is one; null after `waitMs`. Many requests may
 * wait at once, so everything they read or hold is counted in the byte budget.
 */
async function outcomeWithin(
  call: RouteCall,
  conversation: Conversation,
  turnId: string,
  waitMs: number,
): Promise<Response | null> {
  const answerNow = (): Promise<Response | null> =>
    withinByteBudget(call, async () => {
      const outcome = await outcomeNow(conversation, turnId)
      return outcome && json(outcome)
    })
  const found = await answerNow()
  if (found || waitMs === 0) return found
  return (await hasSettled(call, conversation, turnId, waitMs)) ? answerNow() : null
}

/** Null while the turn is running. */
async function outcomeNow(conversation: Conversation, turnId: string): Promise<TurnOutcome | null> {
  const view = await conversation.view()
  if (findTurn(view.log, turnId)?.end === null) return waitingOutcome(view, turnId)
  // The view of a large conversation may lack the turn, or a part of its last message.
  const ended = await conversation.turn(turnId).outcome()
  if (ended.status !== 'detached') return ended
  const { log, unknownEvent } = await conversation.view()
  // The turn may come after an event that this node does not know.
  if (unknownEvent || findTurn(log, turnId)) return ended
  throw new TurnNotFoundError(conversation.id, turnId)
}

function waitingOutcome({ conversationId, log, children }: View, turnId: string): TurnOutcome | null {
  return outcomeOf(conversationId, log, turnId, children)
}

/** Whether the turn settles before the time is up, or before others need the memory. */
async function hasSettled(
  { request, server }: RouteCall,
  conversation: Conversation,
  turnId: string,
  waitMs: number,
): Promise<boolean> {
  const enough = new AbortController()
  const signal = AbortSignal.any([AbortSignal.timeout(waitMs), request.signal, enough.signal])
  const { answerBytes, waitMs: longest } = server.settings.limits
  const reservation = await server.byteBudget.reserve(answerBytes, { signal: request.signal, waitMs: longest })
  let looking: NodeJS.Immediate | null = null
  let isSettled = false
  try {
    let shown: GrowingView | null = null
    let known: View | null = null
    const look = (): void => {
      looking = null
      const view = shown?.view
      if (!view || (known && view.log === known.log && view.children === known.children)) return
      known = view
      isSettled = findTurn(view.log, turnId)?.end !== null || waitingOutcome(view, turnId) !== null
      if (isSettled) enough.abort()
      else reservation.keep(stateWeight(view.log), () => enough.abort())
    }
    // Looks once per event loop tick, because a commit may have thousands of events.
    for await (const event of conversation.watch({ signal })) {
      if (shown) shown.take(event)
      else if (event.type === 'snapshot') shown = new GrowingView(event.view)
      looking ??= setImmediate(look)
    }
    look()
    return isSettled
  } finally {
    if (looking) clearImmediate(looking)
    reservation.release()
  }
}
