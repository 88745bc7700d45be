import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import { ConversationNotFoundError } from '../../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { WhenBusy } from '../../engine/turn-options.ts'
import { openTurn } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { chatOf, empty, traceOfRequest, truncateToLimit } from '../answer.ts'
import { withStoredFiles } from '../file-response.ts'
import { eventStreamHeaders } from '../live/subscription.ts'
import { limit, object, type Route, type RouteCall, seq, text } from '../route.ts'
import { type ClientMessage, dataOf, inputOf, readClientMessage } from '../ui/client-message.ts'
import { replacementFor } from '../ui/replaced-message.ts'
import { answerClaims } from '../ui/ui-call-of.ts'
import { uiStream, uiStreamHeaders } from '../ui/ui-stream.ts'
import { type UiMessage, uiMessagesOf } from '../ui/ui-turn-of.ts'
import { cancelOpenTurn } from './turns.ts'

const chunks = {
  enum: ['v6', 'v7'],
  description: 'v7 also sends chunks that clients of AI SDK 6 do not accept. Default: v6.',
}
const loss = {
  enum: ['error', 'resume'],
  description:
    '`resume`: when the stream has to be read again, it ends with a chunk `resume` instead of an `error`, and a chunk `caught-up` follows what happened before it began. For perdureTransport. Default: error.',
}
const answer = { status: 200, description: 'A UI message stream of the AI SDK.', type: 'text/event-stream' }

/** The routes of `useChat` with `DefaultChatTransport({ api: '/ui/<agent>' })`, and what else a page needs. */
export const uiRoutes: readonly Route[] = [
  {
    name: 'uiSend',
    method: 'POST',
    path: '/ui/:agent',
    summary: 'Sends the newest message of a chat, or answers its waiting calls, and streams the turn',
    query: object({ chunks, loss }),
    body: object(
      {
        id: { ...text, description: 'The id of the conversation.' },
        messages: { type: 'array', minItems: 1, description: 'UI messages of the AI SDK; only the last one is read.' },
        trigger: { enum: ['submit-message', 'regenerate-message'] },
        messageId: {
          ...text,
          description: 'Of the message that is edited, or of the answer that is regenerated, where the page names it.',
        },
        force: {
          type: 'boolean',
          description: 'As in `retry`: for regenerating and editing past a tool that had an effect.',
        },
        whenBusy: { enum: ['reject', 'queue', 'interrupt', 'steer'] },
        data: { type: 'object', description: 'JSON that is recorded with the message: `turn.data`.' },
        answerKey: {
          ...text,
          description: 'A repeated key repeats the answers: a retry is not told that it was late.',
        },
        answersOnly: { type: 'boolean', description: 'Ends the stream as soon as the answers are recorded.' },
      },
      ['id', 'messages', 'trigger'],
    ),
    answer,
    async handle(call) {
      const { id, messages, trigger, ...options } = call.body as SendBody
      const last = readClientMessage(messages.at(-1)!)
      const named = { ...call, params: { ...call.params, id } }
      if (last.role === 'user') return sendAndStream(named, last, { trigger, ...options })
      if (last.role === 'assistant' && trigger === 'submit-message') return answerAndStream(named, last, options)
      throw new InvalidRequestError('body', 'the last message is not from a user')
    },
  },
  {
    name: 'uiResume',
    method: 'GET',
    path: '/ui/:agent/:id/stream',
    summary: 'Streams the message of the open turn from its beginning',
    query: object({ chunks, loss, turn: { ...text, description: 'The turn to stream, also when it has ended.' } }),
    answer,
    async handle(call) {
      const conversation = await resumable(call)
      if (!conversation) return empty()
      // A HEAD request opens no stream.
      if (call.request.method === 'HEAD')
        return new Response(null, { headers: { ...eventStreamHeaders, ...uiStreamHeaders } })
      const { seq: now, log } = await conversation.view()
      const turnId = (call.query['turn'] as string | undefined) ?? openTurn(log)?.turnId
      return turnId === undefined ? empty() : uiStream(call, { conversation, turnId, seq: now, held: null })
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
      const conversation = await chatOf(call, 'read')
      const { open = 'true', ...asked } = call.query as { open?: string; before?: number; limit?: number }
      const view = await conversation.view()
      const isOpen = ({ metadata }: UiMessage) =>
        metadata?.['status'] === 'running' || metadata?.['status'] === 'waiting'
      return truncateToLimit(call, async (maxBytes) => {
        const inspection = call.verbs.inspect(conversation.id)
        const page = await inspection.turns({ ...asked, maxBytes })
        const messages = uiMessagesOf(page.turns, view, call.server.uiTurns.fileUrlOf(inspection.ref.tenant))
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
    summary: 'Cancels the open turn, or the named one; closing a stream does not',
    body: object({ turnId: text }),
    answer: {
      status: 200,
      description: 'Its outcome; null when no turn was open; `terminating` when that takes longer.',
    },
    handle: async (call) => cancelOpenTurn(call, await chatOf(call, 'cancel')),
  },
]

type SendBody = {
  readonly id: string
  readonly messages: readonly Json[]
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly whenBusy?: WhenBusy
  readonly messageId?: string
  readonly force?: boolean
  readonly data?: JsonObject
  readonly answerKey?: string
  readonly answersOnly?: boolean
}

/** The message's id is its key, so sending it twice has no further effect. */
async function sendAndStream(
  call: RouteCall,
  last: ClientMessage,
  body: Omit<SendBody, 'id' | 'messages'>,
): Promise<Response> {
  const { agent, id } = call.params as { agent: string; id: string }
  const conversation = call.verbs.conversation(id, { agent })
  const turnId = await turnFor(call, conversation, last, body)
  const { seq: now } = await conversation.view()
  return uiStream(call, { conversation, turnId, seq: now, held: null })
}

async function turnFor(
  call: RouteCall,
  conversation: Conversation,
  last: ClientMessage,
  { whenBusy, data, force, ...asked }: Omit<SendBody, 'id' | 'messages'>,
): Promise<string> {
  const found = await replacementFor(call, conversation, last, asked)
  const forced = force === undefined ? {} : { force }
  const trace = traceOfRequest(call.request)
  switch (found.type) {
    case 'stream':
      return found.turnId
    case 'retry':
      return (await conversation.retry(found.turnId, { key: found.key, ...forced, ...trace })).turnId
    case 'edit': {
      const options = { key: found.key, replaces: found.turnId, ...forced, ...dataOf(last, data), ...trace }
      return (await conversation.send(found.input, options)).turnId
    }
    case 'send': {
      const options = { key: last.id, ...(whenBusy ? { whenBusy } : {}), ...dataOf(last, data), ...trace }
      const input = await withStoredFiles(call, conversation.id, inputOf(last))
      return (await conversation.send(input, options)).turnId
    }
  }
}

async function answerAndStream(
  call: RouteCall,
  last: ClientMessage,
  { answerKey, answersOnly = false }: Pick<SendBody, 'answerKey' | 'answersOnly'>,
): Promise<Response> {
  const conversation = await chatOf(call, 'read')
  const before = await answerClaims(conversation, await conversation.view(), last, answerKey)
  const { seq: now } = await conversation.view()
  return uiStream(call, { conversation, turnId: last.id, seq: now, held: last, before, isBrief: answersOnly })
}

/** Null for a conversation that does not exist: a page may resume before its first message. */
async function resumable(call: RouteCall): Promise<Conversation | null> {
  try {
    return await chatOf(call, 'read')
  } catch (error) {
    if (error instanceof ConversationNotFoundError && call.query['turn'] === undefined) return null
    throw error
  }
}
