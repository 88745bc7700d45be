import { json } from '../answer.ts'
import { existing } from '../existing.ts'
import type { Route, RouteCall } from '../route.ts'
import { anything, limit, object, round, text } from '../schemas.ts'
import { pageOf } from './page-of.ts'

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
      const { conversation } = await existing(call)
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
      const { conversation } = await existing(call)
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
      const { conversation } = await existing(call)
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
      const { conversation } = await existing(call)
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
