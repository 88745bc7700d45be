import { describe, expect, test } from 'vitest'
import { postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { UiChunk } from '../../src/server/ui/ui-turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type PacedModel, pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { refund } from '../support/asking-tools.ts'
import { startServer } from './start-server.ts'
import { assemble, essence, type Sdk } from './ui-assemble.ts'
import { createChat, lastMessage, messagesOf, textOf } from './ui-chat.ts'

describe.each(['v6', 'v7'] as Sdk[])('ai %s', (sdk) => {
  test('text of a process that let go is withdrawn with an error, and a resumed stream shows what was written anew', async () => {
    const model = pacedModel()
    const { runtime, server } = await startServer({ model })
    const chat = createChat(sdk, { api: `${server.url}/ui/helper` })
    const sent = chat.sendMessage({ text: 'Tell' })
    const lost = await model.called(1)
    lost.say('Never committed')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Never committed')
    await runtime.conversation('c').detach()
    await sent
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toBe(
      'A part of this message was withdrawn. Resume the stream to see the current message.',
    )
    await until(() => server.streams().clients === 0)
    const resumed = chat.resumeStream()
    await until(() => server.streams().clients === 1)
    await runtime.conversation('c').continue()
    await model.answer(2, 'What is so.')
    await resumed
    expect(chat.status).toBe('ready')
    expect(chat.messages.map(textOf)).toEqual(['Tell', 'What is so.'])
  })

  test('text of a stream that broke off is withdrawn with an error, and a resumed stream shows the next attempt alone', async () => {
    const { server, model } = await startBreaking()
    const chat = createChat(sdk, { api: `${server.url}/ui/helper` })
    const sent = chat.sendMessage({ text: 'Tell' })
    await breakOff(model, () => textOf(lastMessage(chat)))
    await sent
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toMatch(/^A part of this message was withdrawn/)
    await until(() => server.streams().clients === 0)
    const resumed = chat.resumeStream()
    await until(() => server.streams().clients === 1)
    await model.answer(2, 'What is so.')
    await resumed
    expect(chat.status).toBe('ready')
    expect(chat.messages.map(textOf)).toEqual(['Tell', 'What is so.'])
  })

  test('an answer that was cut off at its length says so in the metadata of its message, also after a reload', async () => {
    const { server } = await startServer({ model: scriptedModel({ text: 'Once upon a', finishReason: 'length' }) })
    const api = `${server.url}/ui/helper`
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Tell' })
    const metadata = { status: 'completed', finishReason: 'length' }
    expect(lastMessage(chat).metadata).toEqual(metadata)
    expect((await messagesOf(api)).at(-1)?.metadata).toEqual(metadata)
  })

  test('a model that is overloaded, rate limited or too slow is told by that, and never in the words of the provider', async () => {
    const said = 'org-secret is out of luck'
    const timeouts = { firstChunkMs: 600, betweenChunksMs: 600 }
    const told: string[] = []
    for (const step of [
      { error: { status: 429, message: said } },
      { error: { status: 529, message: said } },
      { text: ['Once ', 'upon'], stallAfter: 1 },
      { text: ['Once ', 'upon'], cutAfter: 1 },
    ]) {
      const agent = defineAgent({ name: 'helper', model: scriptedModel(step), retry: false, timeouts })
      const { server } = await startServer({ agents: [agent] })
      const chat = createChat(sdk, { api: `${server.url}/ui/helper` })
      await chat.sendMessage({ text: 'Tell' })
      told.push(chat.error?.message ?? '')
    }
    expect(told).toEqual([
      'The turn failed: the rate limit of the model is reached (model_rate_limited). Send the message again.',
      'The turn failed: the model is overloaded (model_overloaded). Send the message again.',
      'The turn failed: the model took too long (model_timed_out). Send the message again.',
      'The turn failed: the answer of the model was cut off (model_interrupted). Send the message again.',
    ])
  })

  test('a message that a hook has written anew is withdrawn the same way', async () => {
    const { server } = await startHooked()
    const api = `${server.url}/ui/helper`
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Hi' })
    if (chat.status === 'error') {
      chat.messages = await messagesOf(api)
      await chat.resumeStream()
    }
    await until(async () => (await messagesOf(api)).at(-1)?.metadata?.status === 'completed')
    if (textOf(lastMessage(chat)) !== 'Good.') chat.messages = await messagesOf(api)
    expect(essence(lastMessage(chat) as never)).toEqual(essence((await messagesOf(api)).at(-1)! as never))
  })
})

test('who asked for chunks of version 7 sees one message take the place of another, in one stream', async () => {
  const { server } = await startHooked()
  const chat = createChat('v7', { api: `${server.url}/ui/helper?chunks=v7` })
  await chat.sendMessage({ text: 'Hi' })
  expect(chat.status).toBe('ready')
  expect(lastMessage(chat).parts.map(({ type, text }) => text ?? type)).toEqual(['step-start', 'Good.'])
})

async function startHooked() {
  const model = scriptedModel(({ n }) => (n === 1 ? { text: ['Ba', 'd.'] } : 'Good.'))
  const strict = postHook('strict', (turn) =>
    turn.assistantMessage?.text === 'Bad.' ? regenerate('better') : undefined,
  )
  return startServer({ agents: [defineAgent({ name: 'helper', model, hooks: [strict] })] })
}

test('who asked for chunks of version 7 sees the text of a broken stream vanish, and the next attempt in its place', async () => {
  const { server, model } = await startBreaking()
  const chat = createChat('v7', { api: `${server.url}/ui/helper?chunks=v7` })
  const sent = chat.sendMessage({ text: 'Tell' })
  await breakOff(model, () => textOf(lastMessage(chat)))
  await until(() => textOf(lastMessage(chat)) === '')
  const next = await model.called(2)
  next.say('What is')
  await until(() => textOf(lastMessage(chat)) === 'What is')
  next.answer(' so.')
  await sent
  expect(chat.status).toBe('ready')
  expect(lastMessage(chat).parts.map(({ type, text }) => text ?? type)).toEqual(['step-start', 'What is so.'])
})

test('what readUIMessageStream of version 7 makes of a broken stream is the message of a page that loads it', async () => {
  const model = scriptedModel([
    { reasoning: 'Hm.', text: ['Never ', 'committed'], calls: [{ tool: 'refund', args: { cents: 1 } }], cutAfter: 4 },
    { reasoning: 'Ah.', text: ['What is ', 'so.'] },
  ])
  const retry = { baseMs: 0, maxMs: 0 }
  const { server } = await startServer({ agents: [defineAgent({ name: 'helper', model, tools: [refund], retry })] })
  const api = `${server.url}/ui/helper`
  const body = {
    id: 'c',
    trigger: 'submit-message',
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Tell' }] }],
  }
  const answer = await fetch(`${api}?chunks=v7`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('data: {'))
  const message = await assemble(
    'v7',
    lines.map((line) => JSON.parse(line.slice(6)) as UiChunk),
  )
  expect(JSON.stringify(message)).not.toContain('Never')
  expect(essence(message)).toEqual(essence((await messagesOf(api)).at(-1)! as never))
})

/** An agent whose streams the test breaks. */
async function startBreaking() {
  const model = pacedModel()
  const agent = defineAgent({ name: 'helper', model, retry: { baseMs: 0, maxMs: 0 } })
  return { ...(await startServer({ agents: [agent] })), model }
}

async function breakOff(model: PacedModel, shown: () => string): Promise<void> {
  const call = await model.called(1)
  call.say('Never committed')
  await until(() => shown() === 'Never committed')
  call.fail(new Error('cut'))
}
