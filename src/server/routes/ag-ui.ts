import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import { openTurn } from '../../log/state.ts'
import { agUiStream, type Run } from '../ag-ui/ag-ui-stream.ts'
import { answerClientCalls, answerInterrupts, noAnswers } from '../ag-ui/interrupts.ts'
import { dataOf, inputOf, messageSchema, type RunInput } from '../ag-ui/run-input.ts'
import { chatOf, traceOfRequest } from '../answer.ts'
import { withStoredFiles } from '../file-response.ts'
import { anything, object, type Route, type RouteCall, text } from '../route.ts'

/** The route of `HttpAgent({ url: '/ag-ui/<agent>' })`. */
export const agUiRoutes: readonly Route[] = [
  {
    name: 'agUiRun',
    method: 'POST',
    path: '/ag-ui/:agent',
    summary: 'Runs an agent over AG-UI 1.0: sends the newest message or answers what waits, and streams the turn',
    body: object(
      {
        threadId: { ...text, description: 'The id of the conversation.' },
        runId: { ...text, maxLength: 200, description: 'A part of the key of answers: a repeated run repeats them.' },
        protocolVersion: text,
        parentRunId: text,
        messages: {
          type: 'array',
          items: messageSchema,
          description: 'Only the newest is sent, and the rest is not trusted: the log is the history.',
        },
        resume: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              interruptId: text,
              status: { enum: ['resolved', 'cancelled'] },
              payload: anything,
              metadata: { type: 'object' },
            },
            required: ['interruptId', 'status'],
          },
          description: 'Answers to the interrupts of the last run: to all of them.',
        },
        forwardedProps: { ...anything, description: 'Recorded with the message: `turn.data`.' },
        state: { ...anything, description: 'Ignored: the state is in the log.' },
        tools: { type: 'array', description: 'Ignored: the agent declares its tools, client tools too.' },
        context: { type: 'array', description: 'Ignored.' },
      },
      ['threadId', 'runId', 'messages'],
    ),
    answer: { status: 200, description: 'The events of one run of AG-UI 1.0.', type: 'text/event-stream' },
    async handle(call) {
      const input = call.body as RunInput
      const named = { ...call, params: { ...call.params, id: input.threadId } }
      return agUiStream(named, await startRun(named, input))
    },
  },
]

async function startRun(call: RouteCall, input: RunInput): Promise<Run> {
  const { messages, runId, resume = [] } = input
  const last = messages.at(-1)
  if (resume.length === 0 && last?.role === 'user') return sendNewest(call, input)
  const conversation = await chatOf(call, 'read')
  const view = await conversation.view()
  const answering = { call, conversation, view, runId }
  const answers = resume.length === 0 ? noAnswers : await answerInterrupts(answering, resume)
  await answerClientCalls(answering, messages)
  // What is said beside the answers belongs to the turn that they continue.
  if (last?.role === 'user') {
    return { ...(await sendNewest(call, input, 'steer')), claimed: messages.slice(0, -1), answers }
  }
  const { seq, log } = await conversation.view()
  const turn = openTurn(view.log) ?? openTurn(log) ?? log.turns.findLast(({ opened }) => opened)
  if (!turn) throw new InvalidRequestError('body', 'no message in it is from a user, and the conversation has no turn')
  return { conversation, turnId: turn.turnId, runId, seq, claimed: messages, answers }
}

/** The message's id is its key, so sending it twice has no further effect. */
async function sendNewest(call: RouteCall, input: RunInput, whenBusy?: 'steer'): Promise<Run> {
  const { agent, id } = call.params as { agent: string; id: string }
  const last = input.messages.at(-1)!
  const conversation = call.verbs.conversation(id, { agent })
  const parts = await withStoredFiles(call, id, inputOf(last))
  const options = { key: last.id, ...(whenBusy ? { whenBusy } : {}), ...dataOf(input), ...traceOfRequest(call.request) }
  const { turnId } = await conversation.send(parts, options)
  const { seq } = await conversation.view()
  return { conversation, turnId, runId: input.runId, seq, claimed: input.messages, answers: noAnswers }
}
