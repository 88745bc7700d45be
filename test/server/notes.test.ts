import { expect, test } from 'vitest'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from '../stories/gate.ts'
import { startServer } from './start-server.ts'

const hour = 3_600_000

async function waiting() {
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'refund', args: { cents: 1 } }] },
  )
  const started = await startServer({ model })
  const chat = started.client.conversation('c1', { agent: 'helper' })
  await chat.outcome((await chat.send('Go')).turnId)
  const [call] = (await chat.view()).pending
  return { ...started, model, chat, call: call! }
}

test('a note is in the view, the history, the events and the live stream of a page, and in no prompt', async () => {
  const { chat, call, model } = await waiting()
  const watching = new AbortController()
  const begun = gate()
  const watched = (async () => {
    for await (const { event } of chat.watch({ signal: watching.signal })) {
      if (event.type === 'snapshot') begun.open()
      if (event.type === 'note') return event
    }
    return null
  })()
  await begun.opened
  const { seq } = await chat.note('rated', { stars: 5, by: 'a happy customer' })
  const noted = { seq, name: 'rated', data: { stars: 5, by: 'a happy customer' } }
  expect(await watched).toMatchObject({ type: 'note', seq })
  expect((await chat.view()).notes).toMatchObject([noted])
  expect((await chat.history()).notes).toMatchObject([noted])
  expect((await chat.events()).at(-1)).toMatchObject({ seq, type: 'note', content: { data: noted.data } })
  watching.abort()
  await chat.approve(call)
  const [turn] = (await chat.view()).log.turns
  expect(await chat.outcome(turn!.turnId)).toMatchObject({ status: 'completed' })
  expect(JSON.stringify(model.calls.map(({ prompt }) => prompt))).not.toContain('happy customer')
})

test('a deadline is moved over HTTP, for the view, the inbox and the store alike', async () => {
  const { chat, call, client, store } = await waiting()
  const moved = await chat.extendDeadline(call, { expiresInMs: hour })
  const { at } = (await chat.events()).at(-1)!
  expect(moved).toEqual({ accepted: true, expiresAt: at + hour })
  expect((await chat.view()).pending[0]!.expiresAt).toBe(at + hour)
  expect((await client.inbox()).items[0]!.expiresAt).toBe(at + hour)
  expect((await store.getToolCall(call.callId))!.expiresAt).toBe(at + hour)
  expect(await chat.extendDeadline(call, { expiresInMs: null })).toEqual({ accepted: true, expiresAt: null })
  await chat.deny(call, { reason: 'No.' })
  expect(await chat.extendDeadline(call, { expiresInMs: hour })).toMatchObject({
    accepted: false,
    resolution: { status: 'denied', value: { reason: 'No.' } },
  })
})

test.each<[string, string, unknown, number, string]>([
  ['no deadline', 'calls/CALL/deadline', {}, 400, 'invalid_request'],
  ['a deadline of 0', 'calls/CALL/deadline', { expiresInMs: 0 }, 400, 'invalid_request'],
  ['a deadline in words', 'calls/CALL/deadline', { expiresInMs: 'soon' }, 400, 'invalid_request'],
  ['a deadline in a thousand years', 'calls/CALL/deadline', { expiresInMs: 2 ** 52 }, 400, 'invalid_request'],
  ['an unknown member', 'calls/CALL/deadline', { expiresInMs: 5, key: 'k' }, 400, 'invalid_request'],
  ['a round that is not there', 'calls/CALL/deadline', { expiresInMs: 5, round: 2 }, 422, 'invalid_answer'],
  ['an unknown call', 'calls/nothing/deadline', { expiresInMs: 5 }, 404, 'call_not_found'],
  ['a note without a name', 'notes', { data: 5 }, 400, 'invalid_request'],
  ['a note with an empty name', 'notes', { name: '', data: 5 }, 400, 'invalid_request'],
  ['a note without data', 'notes', { name: 'rated' }, 400, 'invalid_request'],
  ['a note by another', 'notes', { name: 'rated', data: 5, who: 'boss' }, 400, 'invalid_request'],
  ['a note that is too large', 'notes', { name: 'rated', data: 'x'.repeat(64 * 1024) }, 413, 'event_too_large'],
])('%s is refused, and nothing is written', async (_, place, body, status, code) => {
  const { server, call, chat } = await waiting()
  const before = await chat.events()
  const answer = await fetch(`${server.url}/conversations/c1/${place.replace('CALL', call.callId)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect([answer.status, await answer.json()]).toMatchObject([status, { code }])
  expect(await chat.events()).toEqual(before)
})
