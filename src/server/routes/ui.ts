import { AgentMismatchError, AgentMissingError, TurnEndedError } from '../../base/errors/runtime-errors.ts'
import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import type { Json } from '../../base/json.ts'
import type { WhenBusy } from '../../engine/turn-options.ts'
import { findTurn, openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { turnIdOf } from '../../runtime/send-message.ts'
import { empty, requireConversation, truncateToLimit } from '../answer.ts'
import { eventStreamHeaders } from '../live/subscription.ts'
import { emptyBody, limit, object, type Route, type RouteCall, seq, text } from '../route.ts'
import { type ClientMessage, inputOf, readClientMessage } from '../ui/client-message.ts'
import { answerClaims } from '../ui/ui-call-of.ts'
import { uiStream, uiStreamHeaders } from '../ui/ui-stream.ts'
import { isUnkeyedId, type UiMessage, uiMessagesOf } from '../ui/ui-turn-of.ts'
import { cancelOpenTurn } from './turns.ts'

const chunks = {
  enum: ['v6', 'v7'],
  description: 'v7 also sends chunks that clients of AI SDK 6 do not accept. Default: v6.',
}
const answer = { status: 200, description: 'A UI message stream of the AI SDK.', type: 'text/event-stream' }

/** The routes of `useChat` with `DefaultChatTransport({ api: '/ui/<agent>' })`, and what else a page needs. */
export const uiRoutes: readonly Route[] = [
  {
    name: 'uiSend',
    method: 'POST',
    path: '/ui/:agent',
    summary: 'Sends the newest message of a chat, or answers its waiting calls, and streams the turn',
    query: object({ chunks }),
    body: object(
      {
        id: { ...text, description: 'The id of the conversation.' },
        messages: { type: 'array', minItems: 1, description: 'UI messages of the AI SDK; only the last one is read.' },
        trigger: { enum: ['submit-message', 'regenerate-message'] },
        messageId: text,
        whenBusy: { enum: ['reject', 'queue', 'interrupt', 'steer'] },
      },
      ['id', 'messages', 'trigger'],
    ),
    answer,
    async handle(call) {
      const { id, messages, trigger, whenBusy } = call.body as SendBody
      const last = readClientMessage(messages.at(-1)!)
      const named = { ...call, params: { ...call.params, id } }
      if (last.role === 'user') return sendAndStream(named, last, { trigger, ...(whenBusy ? { whenBusy } : {}) })
      if (last.role === 'assistant' && trigger === 'submit-message') return answerAndStream(named, last)
      throw new InvalidRequestError('body', 'the last message is not from a user')
    },
  },
  {
    name: 'uiResume',
    method: 'GET',
    path: '/ui/:agent/:id/stream',
    summary: 'Streams the message of the open turn from its beginning',
    query: object({ chunks }),
    answer,
    async handle(call) {
      const conversation = await chatOf(call)
      // A HEAD request opens no stream.
      if (call.request.method === 'HEAD')
        return new Response(null, { headers: { ...eventStreamHeaders, ...uiStreamHeaders } })
      const view = await conversation.view()
      const open = openTurn(view.log)
      return open ? uiStream(call, { conversation, turnId: open.turnId, seq: view.seq, held: null }) : empty()
    },
  },
  {
    name: 'uiMessages',
    method: 'GET',
    path: '/ui/:agent/:id/messages',
    summary: 'The messages of a chat from the log, in pages of whole turns, newest first',
    query: object({
      before: seq,
      limit: limit(100),
      open: {
        enum: ['true', 'false'],
        description: 'Whether to include the message of the open turn. Default: true.',
      },
    }),
    answer: { status: 200, description: 'Pass `before` for the page of older messages; null when there is none.' },
    async handle(call) {
      const conversation = await chatOf(call)
      const { open = 'true', ...asked } = call.query as { open?: string; before?: number; limit?: number }
      const view = await conversation.view()
      const isOpen = ({ metadata }: UiMessage) =>
        metadata?.['status'] === 'running' || metadata?.['status'] === 'waiting'
      return truncateToLimit(call, async (maxBytes) => {
        const page = await call.verbs.inspect(conversation.id).turns({ ...asked, maxBytes })
        const messages = uiMessagesOf(page.turns, view, call.server.uiTurns.fileUrl)
        return {
          messages: open === 'true' ? messages : messages.filter((shown) => !isOpen(shown)),
          before: page.before,
        }
      })
    },
  },
  {
    name: 'uiCancel',
    method: 'POST',
    path: '/ui/:agent/:id/cancel',
    summary: 'Cancels the open turn; closing a stream does not',
    body: emptyBody,
    answer: {
      status: 200,
      description: 'Its outcome; null when no turn was open; `terminating` when that takes longer.',
    },
    handle: async (call) => cancelOpenTurn(call, await chatOf(call)),
  },
]

type SendBody = {
  readonly id: string
  readonly messages: readonly Json[]
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly whenBusy?: WhenBusy
}

/** The message's id is its key, so sending it twice has no further effect. */
async function sendAndStream(
  call: RouteCall,
  last: ClientMessage,
  { trigger, whenBusy }: Pick<SendBody, 'trigger' | 'whenBusy'>,
): Promise<Response> {
  const { agent, id } = call.params as { agent: string; id: string }
  const conversation = call.verbs.conversation(id, { agent })
  if (trigger === 'regenerate-message') await refuseEnded(call, conversation, last)
  const options = { key: last.id, ...(whenBusy ? { whenBusy } : {}) }
  const { turnId } = await conversation.send(inputOf(last), options)
  const { seq: now } = await conversation.view()
  return uiStream(call, { conversation, turnId, seq: now, held: null })
}

/** `useChat` also asks for this after a failed send or a lost stream. Only a finished answer is refused. */
async function refuseEnded(call: RouteCall, conversation: Conversation, { id }: ClientMessage): Promise<void> {
  const record = await call.verbs.inspect(conversation.id).record()
  if (!record) return
  const turnId = turnIdOf(id)
  const turn = findTurn((await conversation.view()).log, turnId)
  if (turn?.end || isUnkeyedId(id)) throw new TurnEndedError(conversation.id, turnId)
}

async function answerAndStream(call: RouteCall, last: ClientMessage): Promise<Response> {
  const conversation = await chatOf(call)
  await answerClaims(conversation, await conversation.view(), last)
  const { seq: now } = await conversation.view()
  return uiStream(call, { conversation, turnId: last.id, seq: now, held: last })
}

async function chatOf(call: RouteCall): Promise<Conversation> {
  const { conversation, record } = await requireConversation(call)
  const agent = call.params['agent']!
  const { agents } = call.verbs
  if (record.agent !== null && record.agent !== agent) throw new AgentMismatchError(record.id, record.agent, agent)
  if (!agents.includes(agent)) throw new AgentMissingError(agent, record.id, agents)
  return conversation
}
