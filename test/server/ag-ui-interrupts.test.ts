import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { interruptsOf } from '../../src/server/ag-ui/interrupts.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from '../stories/child-agents.ts'
import { until } from '../stories/until.ts'
import { refund } from '../support/asking-tools.ts'
import { calling, clientOf, contentsOf, lastOf, outcomeOf, start, typesOf } from './ag-ui-client.ts'
import { startServer } from './start-server.ts'

test('an approval interrupts the run, and is answered by the run that resumes', async () => {
  const { url, log } = await start(scriptedModel([calling('refund', { cents: 5 }), 'Paid.']))
  const client = clientOf(url)
  client.say('Pay')
  const ran = await client.run()
  const [interrupt] = outcomeOf(ran).interrupts
  expect(interrupt).toMatchObject({ reason: 'tool_call', responseSchema: { required: ['approved'] } })
  expect(interrupt!.metadata).toMatchObject({ kind: 'approval', tool: 'refund', args: { cents: 5 } })
  expect(interrupt!.toolCallId).toBe((client.agent.messages.at(-1) as { toolCalls: { id: string }[] }).toolCalls[0]!.id)
  const entry = { interruptId: interrupt!.id, status: 'resolved' as const }
  for (const payload of [undefined, 'yes', { approved: 'yes' }]) {
    const refused = await client.run({ resume: [{ ...entry, payload }] })
    expect(refused.error).toMatchObject({ status: 400, message: expect.stringContaining('approved') })
  }
  const resumed = await client.run({ resume: [{ ...entry, payload: { approved: true } }] })
  expect(resumed.error).toBeNull()
  expect(typesOf(resumed)).not.toContain('MESSAGES_SNAPSHOT')
  expect(typesOf(resumed).slice(0, 2)).toEqual(['RUN_STARTED', 'TOOL_CALL_RESULT'])
  expect(contentsOf(client.agent.messages)).toEqual([
    ['user', 'Pay'],
    ['assistant', undefined],
    ['tool', '{"paid":5}'],
    ['assistant', 'Paid.'],
  ])
  expect(client.agent.pendingInterrupts).toEqual([])
  expect((await log.view()).phase).toBe('idle')
})

test('an approval that comes again says in its message that the same was done before', async () => {
  const pays = calling('refund', { cents: 5 })
  const { url, log } = await start(scriptedModel([pays, 'Paid.', pays]))
  const client = clientOf(url)
  client.say('Pay')
  const [interrupt] = outcomeOf(await client.run()).interrupts
  expect(interrupt!.message ?? '').not.toContain('The same')
  await client.run({ resume: [{ interruptId: interrupt!.id, status: 'resolved', payload: { approved: true } }] })
  expect(await (await log.retry(undefined, { force: true })).outcome()).toMatchObject({ status: 'waiting' })
  const [again] = interruptsOf(await log.view(), new Set())
  expect(again!.message).toMatch(/^The same was done in the variant before this one\./)
  expect(again!.metadata).toMatchObject({ doneBefore: { outcome: 'done' } })
})

test('an approval is given with other arguments, and the client is shown those', async () => {
  const { url } = await start(scriptedModel([calling('refund', { cents: 5 }), 'Paid.']))
  const client = clientOf(url)
  client.say('Pay')
  const [interrupt] = outcomeOf(await client.run()).interrupts
  const payload = { approved: true, args: { cents: 4 } }
  const resumed = await client.run({ resume: [{ interruptId: interrupt!.id, status: 'resolved', payload }] })
  expect(resumed.error).toBeNull()
  const [asked, , paid] = client.agent.messages.slice(-3)
  expect([asked, paid]).toMatchObject([
    { toolCalls: [{ function: { arguments: '{"cents":4}' } }] },
    { content: 'Paid.' },
  ])
})

test('a cancelled approval is a denial, and a cancelled question ends its turn', async () => {
  const model = scriptedModel([calling('refund', { cents: 5 }), calling('ask', { question: 'Why?' }), 'Over.'])
  const { url, log } = await start(model)
  const client = clientOf(url)
  client.say('Pay')
  const [approval] = outcomeOf(await client.run()).interrupts
  const denied = await client.run({ resume: [{ interruptId: approval!.id, status: 'cancelled' }] })
  const [question] = outcomeOf(denied).interrupts
  expect(question).toMatchObject({ reason: 'input_required', responseSchema: { required: ['text'] } })
  expect(denied.events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
    metadata: { status: 'denied' },
  })
  const ended = await client.run({ resume: [{ interruptId: question!.id, status: 'cancelled' }] })
  expect(lastOf(ended)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  expect((await log.view()).phase).toBe('idle')
})

test('a run that answers some of the interrupts is refused, says which are missing, and answers nothing', async () => {
  const both = { calls: [1, 2].map((cents) => ({ tool: 'refund', args: { cents } })) }
  const { url, log } = await start(scriptedModel([both, 'Paid.']))
  const client = clientOf(url)
  client.say('Pay')
  const interrupts = outcomeOf(await client.run()).interrupts
  expect(interrupts).toHaveLength(2)
  const entries = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload: true }))
  const body = { threadId: 'c', runId: 'r2', messages: client.agent.messages }
  const post = (resume: unknown) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, resume }),
    })
  const partial = await post(entries.slice(0, 1))
  expect(partial.status).toBe(409)
  expect(await partial.json()).toMatchObject({
    code: 'resume_incomplete',
    detail: expect.stringMatching(new RegExp(`${interrupts[1]!.id}.*Send one run that answers or cancels`)),
  })
  expect((await post([...entries, entries[0]])).status).toBe(400)
  expect((await log.view()).pending).toHaveLength(2)
  // The very same request twice: its answers are its own, so neither is late.
  const texts = [await (await post(entries)).text(), await (await post(entries)).text()]
  for (const text of texts) expect(text).toContain('"outcome":{"type":"success"}')
  expect(texts[1]).not.toContain('late-answer')
  const late = await client.run({ resume: entries })
  expect(late.events.filter(({ name }) => name === 'perdure.late-answer')).toMatchObject([
    { value: { interruptId: interrupts[0]!.id, status: 'resolved', answeredBy: 'local' } },
    { value: { interruptId: interrupts[1]!.id } },
  ])
  expect(
    (await log.history()).messages.flatMap(({ parts }) => parts).filter(({ type }) => type === 'call'),
  ).toHaveLength(2)
})

test('an interrupt says when it expires, and one that has expired is cancelled past', async () => {
  const brief = defineTool({ ...briefly, expiresInMs: 60_000 })
  const { url, log } = await start(scriptedModel([calling('brief', {}), 'Nobody came.']), [brief])
  const client = clientOf(url)
  client.say('Ask')
  const [interrupt] = outcomeOf(await client.run()).interrupts
  expect(new Date(interrupt!.expiresAt!).getTime()).toBe((await log.view()).pending[0]!.expiresAt)
  await log.extendDeadline(interrupt!.toolCallId!, { expiresInMs: 1 })
  await until(async () => (await log.view()).phase === 'idle')
  const passed = await client.run({ resume: [{ interruptId: interrupt!.id, status: 'cancelled' }] })
  expect(passed.error).toBeNull()
  expect(passed.events.find(({ type }) => type === 'CUSTOM')).toMatchObject({ value: { status: 'expired' } })
  expect(client.agent.messages.at(-1)).toMatchObject({ content: 'Nobody came.' })
})

const briefly = {
  name: 'brief',
  description: 'Needs an approval soon',
  input: z.object({}),
  approval: 'required' as const,
  run: () => 'done',
}

test('a client tool that the agent declares ends the run, and its result comes as a tool message', async () => {
  const { url } = await start(scriptedModel([calling('locate', { exact: true }), 'You are in Rome.']))
  const client = clientOf(url)
  client.say('Where am I?')
  const ran = await client.run()
  const toolCallId = String(ran.events.find(({ type }) => type === 'TOOL_CALL_START')!['toolCallId'])
  expect(lastOf(ran)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: [toolCallId] } })
  client.agent.addMessage({ id: 't1', role: 'tool', toolCallId, content: '{"city":"Rome"}' })
  const done = await client.run()
  expect(done.error).toBeNull()
  expect(client.agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'You are in Rome.' })
})

test('a client tool that needs an approval is not handed to the client before it has that', async () => {
  const { url } = await start(scriptedModel([calling('guarded', {}), 'Thanks.']))
  const client = clientOf(url)
  client.say('Where am I?')
  const ran = await client.run()
  expect(typesOf(ran)).not.toContain('TOOL_CALL_START')
  const [interrupt] = outcomeOf(ran).interrupts
  const approved = await client.run({
    resume: [{ interruptId: interrupt!.id, status: 'resolved', payload: { approved: true } }],
  })
  expect(typesOf(approved)).toContain('TOOL_CALL_END')
  expect(lastOf(approved)).toMatchObject({ outcome: { pendingToolCallIds: [interrupt!.toolCallId] } })
})

test('a tool message for a call that does not wait for the client is no result', async () => {
  const { url, log } = await start(scriptedModel([calling('refund', { cents: 5 }), 'Paid.']))
  const client = clientOf(url)
  client.say('Pay')
  const [interrupt] = outcomeOf(await client.run()).interrupts
  const claim = { id: 't1', role: 'tool', toolCallId: interrupt!.toolCallId, content: '{"paid":5}' }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 'c', runId: 'r2', messages: [...client.agent.messages, claim] }),
  })
  expect(await answer.text()).toContain('"type":"interrupt"')
  expect((await log.view()).pending).toHaveLength(1)
})

test('the question of a child agent interrupts the run of its parent, and its answer goes to the child', async () => {
  const worker = defineAgent({
    name: 'worker',
    model: scriptedModel([calling('refund', { cents: 5 }), 'It is paid.']),
    tools: [refund],
  })
  const { boss } = bossOf([childTool('delegate', worker)], [{ tool: 'delegate', args: { task: 'Pay' } }])
  const { server } = await startServer({ agents: [boss] })
  const client = clientOf(`${server.url}/ag-ui/boss`)
  client.say('Pay')
  const [interrupt, ...others] = outcomeOf(await client.run()).interrupts
  expect(others).toEqual([])
  expect(interrupt!.metadata).toMatchObject({ tool: 'refund', args: { cents: 5 } })
  const done = await client.run({ resume: [{ interruptId: interrupt!.id, status: 'resolved', payload: true }] })
  expect(done.error).toBeNull()
  expect(client.agent.messages.at(-1)).toMatchObject({ content: 'Done.' })
})
