import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import type { Answered } from '../../src/runtime/answer-call.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { PendingItem } from '../../src/view/view.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { startServer } from './start-server.ts'

const asksForRefund = () =>
  scriptedModel([{ calls: [{ tool: 'refund', args: { cents: 500 } }] }, 'You have your money back.'])

test('a conversation is held over the wire, from the first message to its end', async () => {
  const { client } = await startServer({ model: asksForRefund() })
  const chat = client.conversation('ticket/42 ü', { agent: 'helper' })
  const { turnId } = await chat.send('I want my money back', { key: 'one' })
  expect(await chat.send('I want my money back', { key: 'one' })).toEqual({ turnId })
  const waiting = await chat.outcome(turnId)
  expect(waiting).toMatchObject({ status: 'waiting', pending: [{ tool: 'refund', args: { cents: 500 } }] })
  const { items } = await client.inbox()
  expect(items).toMatchObject([{ conversationId: 'ticket/42 ü', tool: 'refund', agentMissing: false }])
  const [call] = (await chat.view()).pending
  expect(await chat.approve(call!, { args: { cents: 400 } })).toEqual({ accepted: true })
  expect(await chat.approve(call!)).toMatchObject({ accepted: false, resolution: { status: 'resolved', who: 'local' } })
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed', text: 'You have your money back.' })
  expect((await chat.history()).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant'])
  const { conversations } = await client.conversations()
  expect(conversations).toMatchObject([{ id: 'ticket/42 ü', agent: 'helper', status: 'idle' }])
  const { waiting: calls, ...listed } = conversations[0]!
  expect(calls).toBe(0)
  expect(await chat.record()).toEqual(listed)
})

test('an answer with a key is accepted again when it is repeated, and its key stands for nothing else', async () => {
  const model = scriptedModel([
    { calls: [{ tool: 'refund', args: { cents: 1 } }] },
    { calls: [{ tool: 'ask', args: { question: 'Why?' } }] },
    { calls: [{ tool: 'refund', args: { cents: 2 } }] },
    { calls: [{ tool: 'refund', args: { cents: 3 } }] },
    'Done.',
  ])
  const { client } = await startServer({ model })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Go')
  const answers: ((call: PendingItem, key: string) => Promise<Answered>)[] = [
    (call, key) => chat.deny(call, { reason: 'no', key }),
    (call, key) => chat.answer(call, { text: 'Because.' }, { key }),
    (call, key) => client.resolve('c', call, true, { key }),
    (call, key) => chat.approve(call, { args: { cents: 4 }, key }),
  ]
  for (const [index, answer] of answers.entries()) {
    const outcome = await chat.outcome(turnId)
    if (outcome.status !== 'waiting') throw new Error('it should wait')
    const [call] = outcome.pending
    expect(await answer(call!, `k${index}`)).toEqual({ accepted: true })
    expect(await answer(call!, `k${index}`)).toEqual({ accepted: true })
    expect(await answer(call!, 'another')).toMatchObject({ accepted: false })
    await expect(chat.resolve(call!, false, { key: `k${index}` })).rejects.toMatchObject({ code: 'key_reused' })
  }
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed' })
})

test('the log is read in pages, onwards and from its end', async () => {
  const { client, runtime } = await startServer()
  const chat = client.conversation('c', { agent: 'helper' })
  await chat.outcome((await chat.send('Hi')).turnId)
  const all = await runtime.as({ user: 'x', assigns: {}, system: false }).conversation('c').events()
  expect(await chat.events({ after: 0, limit: 2 })).toEqual(all.slice(0, 2))
  expect(await chat.events({ after: 2 })).toEqual(all.slice(2))
  expect(await chat.events({ limit: 1 })).toEqual(all.slice(-1))
  expect(await chat.events({ before: 2 })).toEqual(all.slice(0, 1))
})

test('calls are denied, answered and resolved, and what does not fit is refused with its code', async () => {
  const model = scriptedModel([
    { calls: [{ tool: 'refund', args: { cents: 1 } }] },
    { calls: [{ tool: 'ask', args: { question: 'Why?' } }] },
    { calls: [{ tool: 'refund', args: { cents: 2 } }] },
    'Done.',
  ])
  const { client } = await startServer({ model })
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Go')
  const pending = async () => {
    const outcome = await chat.outcome(turnId)
    return outcome.status === 'waiting' ? outcome.pending[0]! : null
  }
  const first = (await pending())!
  await expect(chat.answer(first, 'yes')).rejects.toMatchObject({ code: 'invalid_answer', status: 422 })
  expect(await chat.deny(first, { reason: 'No.' })).toEqual({ accepted: true })
  const question = (await pending())!
  await expect(chat.answer(question, { text: 7 })).rejects.toMatchObject({ code: 'invalid_answer' })
  expect(await chat.answer(question, { text: 'Because.' })).toEqual({ accepted: true })
  const last = (await pending())!
  expect(await client.resolve('c', last, true)).toEqual({ accepted: true })
  expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed', text: 'Done.' })
})

test('a turn is cancelled, a conversation forked, continued and deleted', async () => {
  const { client } = await startServer({ model: asksForRefund() })
  const chat = client.conversation('c', { agent: 'helper' })
  await expect(chat.view()).rejects.toMatchObject({ code: 'conversation_not_found', status: 404 })
  const { turnId } = await chat.send('Go')
  await chat.outcome(turnId)
  const fork = await chat.fork({ at: 1, id: 'copy' })
  await fork.continue()
  expect((await fork.record()).parent).toEqual({ id: 'c', at: 1 })
  expect(await chat.forks()).toEqual([{ ...(await fork.record()), waiting: 0 }])
  expect(await fork.lineage()).toEqual([{ id: 'c', at: 1 }])
  expect([await fork.forks(), await chat.lineage()]).toEqual([[], []])
  await expect(chat.fork({ id: 'copy' })).rejects.toMatchObject({ code: 'conversation_exists', status: 409 })
  expect(await chat.cancel()).toMatchObject({ status: 'cancelled', turnId })
  expect(await chat.cancel()).toBeNull()
  expect([await chat.delete(), await chat.delete()]).toEqual([true, false])
  await expect(chat.cancel()).rejects.toMatchObject({ code: 'conversation_not_found' })
})

test('files come along as data URLs and are kept outside the log', async () => {
  const { client } = await startServer()
  const chat = client.conversation('c', { agent: 'helper' })
  const data = `data:image/png;base64,${Buffer.from('not really').toString('base64')}`
  await chat.send([{ type: 'file', mediaType: 'image/png', data }])
  const [event] = await chat.events({ after: 0, limit: 1 })
  expect(event).toMatchObject({
    content: { message: { parts: [{ type: 'file', data: { blob: expect.any(String) } }] } },
  })
})

test('what each model call was given is told, and why', async () => {
  const agents = [defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.'), audit: 'full' })]
  const { client } = await startServer({ agents, serve: { showPrompts: true } })
  const chat = client.conversation('c', { agent: 'helper' })
  await chat.outcome((await chat.send('Hi')).turnId)
  const [call] = await chat.modelCalls()
  expect(call).not.toHaveProperty('renderedContext')
  expect(await chat.modelCall(call!.turnRef)).toMatchObject([{ renderedContext: expect.anything() }])
  expect((await chat.explain(call!.turnRef))[0]).toMatchObject({ seq: 1, type: 'user_msg', shown: 'verbatim' })
  await expect(chat.explain('nothing')).rejects.toMatchObject({ code: 'turn_not_found' })
  expect(await chat.snapshot()).toBeNull()
})

test('a session is started, resumed, forked and removed', async () => {
  const { client } = await startServer()
  const session = client.flow('greeting', 's1')
  await expect(session.status()).rejects.toMatchObject({ code: 'no_session', status: 404 })
  expect(await session.start('Hello')).toEqual({ status: 'waiting', tag: 'name?' })
  await expect(session.start('Hello')).rejects.toMatchObject({ code: 'session_exists', status: 409 })
  const fork = await session.fork('s2')
  expect(await session.resume('Ada')).toEqual({ status: 'done', result: 'Hello, Ada' })
  await expect(session.resume('Eve')).rejects.toMatchObject({ code: 'not_suspended' })
  expect(await session.status()).toMatchObject({ status: 'done', result: 'Hello, Ada' })
  expect(await session.record()).toMatchObject({ flow: 'greeting', version: '1', input: 'Hello' })
  expect(await fork.resume('Eve')).toEqual({ status: 'done', result: 'Hello, Eve' })
  expect((await session.events()).at(-1)).toMatchObject({ type: 'flow_ended', content: { result: 'Hello, Ada' } })
  expect(await session.events({ after: 0, limit: 1 })).toMatchObject([{ type: 'flow_started', seq: 1 }])
  expect(await session.forks()).toMatchObject([{ id: 's2', kind: 'flow' }])
  expect(await fork.lineage()).toMatchObject([{ id: 's1' }])
  await expect(client.flow('greeting', 'none').events()).rejects.toMatchObject({ code: 'no_session' })
  expect([await fork.delete(), await fork.delete()]).toEqual([true, false])
  await expect(client.flow('nothing', 's1').status()).rejects.toMatchObject({ code: 'no_session', status: 404 })
  await expect(client.flow('nothing', 's9').start()).rejects.toMatchObject({ code: 'no_such_flow', status: 404 })
  await expect(client.conversation('s1').view()).rejects.toMatchObject({ code: 'not_a_conversation', status: 409 })
})

test('sessions and flows are listed, waited for, watched and answered from the inbox', async () => {
  const { client, runtime } = await startServer()
  const session = client.flow('greeting', 's1')
  await session.start('Hello')
  expect(await client.flows()).toContainEqual({ name: 'greeting', versions: ['1'] })
  const { sessions, before } = await client.sessions({ flow: 'greeting', status: 'waiting' })
  expect([sessions, before]).toMatchObject([[{ id: 's1', flow: 'greeting', status: 'waiting' }], null])
  expect(await client.sessions({ status: 'done' })).toEqual({ sessions: [], before: null })
  expect(await session.outcome()).toEqual({ status: 'waiting', tag: 'name?' })

  const seen: unknown[] = []
  const watching = (async () => {
    for await (const { id, event } of session.watch({ after: 1 })) seen.push([id, event.type])
  })()
  const { items } = await client.inbox()
  expect(items).toMatchObject([{ kind: 'flow', flow: 'greeting', conversationId: 's1', seq: 2, tag: 'name?' }])
  expect(await client.resolve('s1', items[0]!, 'Ada')).toEqual({ accepted: true })
  expect(await client.resolve('s1', items[0]!, 'Eve')).toMatchObject({
    ...{ accepted: false, resolution: { status: 'resolved', value: 'Ada' } },
  })
  expect(await session.outcome()).toEqual({ status: 'done', result: 'Hello, Ada' })
  await watching
  expect(seen).toEqual([
    ['2', 'flow_opened'],
    ['3', 'flow_outcome'],
    ['4', 'flow_ended'],
  ])
  expect(await client.inbox()).toEqual({ items: [], before: null })

  const fork = await session.fork('s2', { at: 2, run: true })
  expect(await fork.outcome()).toEqual({ status: 'waiting', tag: 'name?' })
  await session.fork('s3', { at: 2 })
  expect(await client.flow('greeting', 's3').status()).toMatchObject({
    status: 'dormant',
    pending: 'name?',
    wakeAt: null,
  })
  expect(await runtime.flow('greeting', 's3').status()).toBe('dormant')
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  await expect(client.flow('greeting', 'c').status()).rejects.toMatchObject({ code: 'not_a_session', status: 409 })
})

test('a request that waits for a turn gives up in time, and the turn goes on', async () => {
  const model = scriptedModel(() => ({ text: ['a', 'b'], delayMs: 10_000 }))
  const { client, server } = await startServer({ model })
  const { turnId } = await client.conversation('c', { agent: 'helper' }).send('Hi')
  const answer = await fetch(`${server.url}/conversations/c/turns/${turnId}/outcome?waitMs=20`)
  expect(await answer.json()).toEqual({ status: 'running', turnId })
})

test('who stops waiting for a session or a cancel is let go, and what was asked for goes on', async () => {
  const sleepy = defineFlow({ name: 'sleepy', version: 1, run: (flow) => flow.sleep(1_000_000) }) as unknown as Flow
  const { client, runtime } = await startServer({
    model: pacedModel(),
    flows: [sleepy],
    serve: { limits: { waitMs: 20 } },
  })
  const wakeAt = expect.any(Number) as number
  expect(await client.flow('sleepy', 's1').start()).toEqual({ status: 'sleeping', wakeAt })
  expect(await client.flow('sleepy', 's1').continue()).toEqual({ status: 'sleeping', wakeAt })
  expect(await client.flow('sleepy', 's1').status()).toMatchObject({ status: 'sleeping', wakeAt })
  const enough = new Error('enough')
  const stop = new AbortController()
  const waiting = runtime.flow('sleepy', 's1').outcome({ signal: stop.signal })
  stop.abort(enough)
  await expect(waiting).rejects.toBe(enough)
  expect(await runtime.flow('sleepy', 's1').status()).toBe('sleeping')
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const conversation = runtime.conversation('c')
  await expect(conversation.cancel({ signal: AbortSignal.abort(enough) })).rejects.toBe(enough)
  expect(await conversation.outcome()).toMatchObject({ status: 'cancelled' })
})

test('health needs no identity, and the OpenAPI document names every route', async () => {
  const { client, server } = await startServer()
  expect(await client.health()).toEqual({ status: 'ok' })
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as { paths: Record<string, object> }
  expect(Object.keys(document.paths)).toContain('/conversations/{id}/calls/{callId}/approve')
})
