import { SchemaNotAllowedError, TurnOptionsNotAllowedError } from '../../base/errors/server-errors.ts'
import type { SendOptions } from '../../engine/turn-options.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { MessageInput } from '../../runtime/message-input.ts'
import { json } from '../answer.ts'
import { existing } from '../existing.ts'
import type { Route, RouteCall } from '../route.ts'
import { limit, object, seq, text } from '../schemas.ts'
import { inTime } from '../waiting.ts'
import { messageSchema } from './message-body.ts'
import { outcomeInTime } from './turn-outcome.ts'

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
      const { conversation } = await existing(call)
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
      return cancelOpenTurn(call, (await existing(call)).conversation)
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
  const ended = await inTime(cancel, server.settings.limits.waitMs, request.signal)
  return json(ended ?? { outcome: { status: 'terminating' } })
}

type SendBody = SendOptions & { readonly message: MessageInput; readonly agent?: string }

function refuseTurnOptions(options: SendOptions): void {
  const given = (['output', 'untilTool', 'maxSteps', 'maxTokens'] as const).filter((name) => name in options)
  if (given.length > 0) throw new TurnOptionsNotAllowedError(given)
}
