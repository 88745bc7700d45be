import { describe, expect, test } from 'vitest'
import { postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { startServer } from './start-server.ts'
import { essence, type Sdk } from './ui-assemble.ts'
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
    await runtime.conversation('c').stop()
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
