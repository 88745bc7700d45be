import { withDeadline } from '../../base/abort.ts'
import { TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { SchemaNotAllowedError, TurnOptionsNotAllowedError } from '../../base/errors/server-errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { outcomeOf, type TurnOutcome } from '../../engine/live/turn-outcome.ts'
import type { MessageInput, SendOptions } from '../../engine/turn-options.ts'
import { findTurn } from '../../log/state.ts'
import { stateWeight } from '../../log/trim-state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { GrowingView } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { json, pageOf, requireConversation } from '../answer.ts'
import { inRoom } from '../room.ts'
import { anything, limit, object, type Route, type RouteCall, round, seq, text } from '../route.ts'

const pageOfCalls = 50
const key = { ...text, description: 'The same key is the same answer: a retry hears `accepted` again.' }
const answered = {
  status: 200,
  description: '`accepted`, or who answered first, when, and with what.',
}

export const callRoutes: readonly Route[] = [
  {
    name: 'inbox',
    method: 'GET',
    path: '/inbox',
    summary: 'Everything that waits for somebody, the newest first',
    query: object({ before: text, limit: limit(200) }),
    answer: { status: 200, description: '`before` asks for the page after this one; null when there is none.' },
    handle: async (call) => json(await pageOf(call, pageOfCalls, (page) => call.verbs.inbox(page))),
  },
  {
    name: 'approveCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/approve',
    summary: 'Lets a gated call run, with other arguments where they are given',
    body: object({ args: anything, round, key }),
    answer: answered,
    async handle(call) {
      const { conversation } = await requireConversation(call)
      const { args } = call.body as { args?: unknown }
      return json(await conversation.approve(refOf(call), { ...keyOf(call), ...(args === undefined ? {} : { args }) }))
    },
  },
  {
    name: 'denyCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/deny',
    summary: 'Refuses a gated call',
    body: object({ reason: text, round, key }),
    answer: answered,
    async handle(call) {
      const { conversation } = await requireConversation(call)
      const { reason } = call.body as { reason?: string }
      const options = { ...keyOf(call), ...(reason === undefined ? {} : { reason }) }
      return json(await conversation.deny(refOf(call), options))
    },
  },
  {
    name: 'answerCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/answer',
    summary: 'Answers a question, a client tool or an interrupted call',
    body: object({ value: anything, round, key }, ['value']),
    answer: answered,
    async handle(call) {
      const { conversation } = await requireConversation(call)
      return json(await conversation.answer(refOf(call), (call.body as { value: unknown }).value, keyOf(call)))
    },
  },
  {
    name: 'resolveCall',
    method: 'POST',
    path: '/conversations/:id/calls/:callId/resolve',
    summary: 'Answers whatever waits: true or false for an approval, else the value that was asked for',
    body: object({ value: anything, round, key }, ['value']),
    answer: answered,
    async handle(call) {
      const { conversation } = await requireConversation(call)
      const { value } = call.body as { value: unknown }
      return json(await call.verbs.resolve(conversation.id, refOf(call), value, keyOf(call)))
    },
  },
]

function keyOf({ body }: RouteCall): { key?: string } {
  const { key: given } = body as { key?: string }
  return given === undefined ? {} : { key: given }
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
        data: { ...text, description: 'The URL of the file, with http or https; a data: URL brings it along.' },
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
    summary: 'Appends a message, and creates the conversation where there is none',
    body: object(
      {
        message: messageSchema,
        agent: { ...text, description: 'Needed for the first message.' },
        key: { ...text, description: 'The same key is the same turn. May come as the header idempotency-key.' },
        whenBusy: { enum: ['reject', 'queue', 'interrupt', 'steer'] },
        output: {
          anyOf: [{ type: 'object' }, { const: false }],
          description: "A JSON Schema, where the server has `callerSchemas`; false opts out of the agent's.",
        },
        untilTool: text,
        maxSteps: { ...limit(1_000_000), description: 'At most what the agent allows.' },
        maxTokens: { ...limit(Number.MAX_SAFE_INTEGER), description: 'At most what the agent allows.' },
      },
      ['message'],
    ),
    answer: { status: 202, description: 'The message is durable; the turn it belongs to goes on by itself.' },
    async handle({ verbs, params, body, request, server }) {
      const { message, agent, ...options } = body as SendBody
      if (!server.settings.turnOptions) refuseTurnOptions(options)
      if (options.output && !server.settings.callerSchemas) throw new SchemaNotAllowedError('output')
      const key = options.key ?? request.headers.get('idempotency-key') ?? undefined
      const id = params['id']!
      const conversation = agent === undefined ? verbs.conversation(id) : verbs.conversation(id, { agent })
      const turn = await conversation.send(message, { ...options, ...(key === undefined ? {} : { key }) })
      return json({ turnId: turn.turnId }, 202)
    },
  },
  {
    name: 'turnOutcome',
    method: 'GET',
    path: '/conversations/:id/turns/:turnId/outcome',
    summary: 'How a turn stands when it cannot go on by itself',
    waits: true,
    query: object({ waitMs: { ...seq, description: 'How long to wait for that. Default: 0.' } }),
    answer: { status: 200, description: 'The outcome, or `status: running` when the time is up.' },
    async handle(call) {
      const { conversation } = await requireConversation(call)
      const { waitMs = 0 } = call.query as { waitMs?: number }
      const turnId = call.params['turnId']!
      const most = Math.min(waitMs, call.server.settings.limits.waitMs)
      return (await outcomeInTime(call, conversation, turnId, most)) ?? json({ status: 'running', turnId })
    },
  },
  {
    name: 'cancelTurn',
    method: 'POST',
    path: '/conversations/:id/cancel',
    summary: 'Ends the open turn, or the one named',
    body: object({ turnId: text }),
    answer: { status: 200, description: 'How it ended; null when there was none; `terminating` when that takes long.' },
    async handle(call: RouteCall) {
      return cancelOpenTurn(call, (await requireConversation(call)).conversation)
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

/** How a turn stands when it cannot go on by itself, within so long; null when that takes longer. Many may wait: what they read and hold meanwhile comes from the room of all answers. */
async function outcomeInTime(
  call: RouteCall,
  conversation: Conversation,
  turnId: string,
  waitMs: number,
): Promise<Response | null> {
  const answerNow = (): Promise<Response | null> =>
    inRoom(call, async () => {
      const outcome = await outcomeNow(conversation, turnId)
      return outcome && json(outcome)
    })
  const found = await answerNow()
  if (found || waitMs === 0) return found
  return (await hasSettled(call, conversation, turnId, waitMs)) ? answerNow() : null
}

/** Null while the turn goes on by itself. */
async function outcomeNow(conversation: Conversation, turnId: string): Promise<TurnOutcome | null> {
  const view = await conversation.view()
  if (findTurn(view.log, turnId)?.end === null) return waitingIn(view, turnId)
  // What is shown of a large conversation may not have the turn, or all of its last message.
  const ended = await conversation.turn(turnId).outcome()
  if (ended.status !== 'detached') return ended
  const { log, unknownEvent } = await conversation.view()
  // It may well be there, behind an event that this node does not know.
  if (unknownEvent || findTurn(log, turnId)) return ended
  throw new TurnNotFoundError(conversation.id, turnId)
}

function waitingIn({ conversationId, log, children }: View, turnId: string): TurnOutcome | null {
  return outcomeOf(conversationId, log, turnId, children)
}

/** Whether there is something to tell before the time is up, or others need the room. */
async function hasSettled(
  { request, server }: RouteCall,
  conversation: Conversation,
  turnId: string,
  waitMs: number,
): Promise<boolean> {
  const enough = new AbortController()
  const signal = AbortSignal.any([AbortSignal.timeout(waitMs), request.signal, enough.signal])
  const { answerBytes, waitMs: longest } = server.settings.limits
  const place = await server.room.take(answerBytes, { signal: request.signal, waitMs: longest })
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
      isSettled = findTurn(view.log, turnId)?.end !== null || waitingIn(view, turnId) !== null
      if (isSettled) enough.abort()
      else place.keep(stateWeight(view.log), () => enough.abort())
    }
    // Once for all that comes in one turn of the event loop: a commit may have thousands of events.
    for await (const event of conversation.watch({ signal })) {
      if (shown) shown.take(event)
      else if (event.type === 'snapshot') shown = new GrowingView(event.view)
      looking ??= setImmediate(look)
    }
    look()
    return isSettled
  } finally {
    if (looking) clearImmediate(looking)
    place.release()
  }
}
