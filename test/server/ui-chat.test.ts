import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { startServer } from './start-server.ts'
import {
  type ChatOptions,
  cancel,
  createChat,
  endedMessagesOf,
  lastMessage,
  messagesOf,
  partsOf,
  textOf,
} from './ui-chat.ts'
import { callsThen, clients, expectTruth, start } from './ui-chat-server.ts'

describe.each(clients)('ai %s%s', (sdk, query) => {
  const open = ({ api, ...options }: ChatOptions) => createChat(sdk, { ...options, api: api + query })

  test('text and reasoning are shown as they are written, with the signature, and stay', async () => {
    const { api, log } = await start({ model: scriptedModel({ reasoning: 'Hm.', text: ['Hel', 'lo.'] }) })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.status).toBe('ready')
    const shown = lastMessage(chat)
    expect(textOf(shown)).toBe('Hello.')
    expect(partsOf(shown, 'reasoning')).toMatchObject([
      { text: 'Hm.', state: 'done', providerMetadata: { scripted: { signature: 'signature-1' } } },
    ])
    expect(shown.metadata).toEqual({ status: 'completed' })
    await expectTruth(api, shown)
    expect((await messagesOf(api))[0]).toMatchObject({ id: chat.messages[0]!.id, role: 'user' })
    expect(await log.events()).toHaveLength(3)
  })

  test('a page that was reloaded resumes in the middle of a message; nothing is resumed when nothing goes on', async () => {
    const model = pacedModel()
    const { api, server } = await start({ model })
    const before = open({ api })
    const sent = before.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => before.messages.length === 2 && textOf(lastMessage(before)) === 'Once ')
    await before.stop()
    await sent
    call.say('upon ')
    const after = open({ api, messages: await endedMessagesOf(api) })
    const resumed = after.resumeStream()
    await until(() => textOf(lastMessage(after)) === 'Once upon ')
    call.answer('a time.')
    await resumed
    expect(textOf(lastMessage(after))).toBe('Once upon a time.')
    expect(after.messages).toHaveLength(2)
    await expectTruth(api, lastMessage(after))
    expect((await fetch(`${api}/c/stream`)).status).toBe(204)
    await after.resumeStream()
    expect(after.status).toBe('ready')
    await until(() => server.streams().clients === 0)
  })

  test('to stop reading does not stop the turn; the cancel route does, and every page is told', async () => {
    const model = pacedModel()
    const { api, log } = await start({ model })
    const [chat, other] = [open({ api }), open({ api })]
    const sent = chat.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Once ')
    await chat.stop()
    await sent
    expect(chat.status).toBe('ready')
    expect((await log.view()).phase).toBe('running')
    const resumed = other.resumeStream()
    await until(() => other.messages.length === 1)
    expect(await cancel(api)).toMatchObject({ outcome: { status: 'cancelled' } })
    await resumed
    expect(other.status).toBe('ready')
    expect(lastMessage(other).metadata).toMatchObject({ status: 'cancelled' })
    expect(textOf(lastMessage(other))).toBe('Once ')
    await expectTruth(api, lastMessage(other))
  })

  test('a turn that fails is an error that says what to do, and nothing of the inside', async () => {
    const secret = 'SELECT key FROM secrets WHERE sk-12345'
    const model = scriptedModel({ error: { status: 400, message: secret } })
    const { api } = await start({ model })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.status).toBe('error')
    expect(chat.error?.message).toBe('The turn failed (model_rejected). Send the message again.')
    const shown = JSON.stringify([chat.messages, await messagesOf(api)])
    expect(shown).not.toContain('SELECT')
    expect(shown).toContain('"status":"failed"')
  })

  test('a message cut off in the middle stays as far as it came', async () => {
    const model = scriptedModel({ text: ['One ', 'two ', 'three'], cutAfter: 2 })
    const { api } = await start({ model })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.status).toBe('error')
    expect(textOf(lastMessage(chat))).toBe('One two ')
    await expectTruth(api, lastMessage(chat))
  })

  test('a turn that ends with a call does not make the page send again and again', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'seen' })
    const model = scriptedModel({ calls: [{ tool: 'look', args: {} }] })
    const started = await startServer({
      agents: [defineAgent({ name: 'helper', model, tools: [look], untilTool: 'look' })],
    })
    const api = `${started.server.url}/ui/helper`
    const chat = open({ api })
    await chat.sendMessage({ text: 'Look' })
    expect(chat.status).toBe('ready')
    expect(partsOf(lastMessage(chat), 'tool-look')).toMatchObject([{ state: 'output-available', output: 'seen' }])
    await expectTruth(api, lastMessage(chat))
    expect(model.calls).toHaveLength(1)
  })

  test('progress of a tool is told while it runs', async () => {
    const dig = defineTool({
      name: 'dig',
      description: 'Dig',
      input: z.object({}),
      async run(_, turn) {
        turn.reportProgress({ metres: 3 })
        return 'deep'
      },
    })
    const { api } = await start({ model: callsThen([{ tool: 'dig', args: {} }]), tools: [dig] })
    const told: unknown[] = []
    const chat = open({ api, onData: (part) => void told.push([part.type, part.data]) })
    await chat.sendMessage({ text: 'Dig' })
    expect(told).toEqual([['data-progress', { callId: expect.any(String), progress: { metres: 3 } }]])
    await expectTruth(api, lastMessage(chat))
  })

  test('an answer is written anew in its place; a message that never arrived is sent', async () => {
    let answers = 0
    const { api, log } = await start({ model: scriptedModel(() => `Answer ${++answers}.`) })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Hi' })
    await chat.regenerate()
    expect(chat.error).toBeUndefined()
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(textOf(lastMessage(chat))).toBe('Answer 2.')
    expect(lastMessage(chat).metadata).toMatchObject({ status: 'completed', variants: 2, previousSeq: 3 })
    await expectTruth(api, lastMessage(chat))
    const [said, ...others] = await messagesOf(api)
    expect(said!.id).toBe(chat.messages[0]!.id)
    expect(others).toHaveLength(1)
    await chat.regenerate()
    expect(textOf(lastMessage(chat))).toBe('Answer 3.')
    expect(lastMessage(chat).metadata).toMatchObject({ variants: 3 })
    const { length } = await log.events()
    const lost = open({ api, messages: [{ ...said!, id: 'never-arrived' }] })
    await lost.regenerate()
    expect(textOf(lastMessage(lost))).toBe('Answer 4.')
    expect(await log.events()).toHaveLength(length + 3)
  })

  test('an edited message takes the place of the first and of all after it; the same again changes nothing', async () => {
    const model = scriptedModel(({ prompt }) => `You said ${JSON.stringify(prompt.at(-1)!.content)}`)
    const { api, log } = await start({ model })
    const chat = open({ api })
    await chat.sendMessage({ text: 'One' })
    await chat.sendMessage({ text: 'Two' })
    const { id } = chat.messages[0]!
    await chat.sendMessage({ text: 'One, edited', messageId: id })
    expect(chat.error).toBeUndefined()
    expect(chat.messages).toHaveLength(2)
    expect(textOf(lastMessage(chat))).toContain('One, edited')
    const shown = await messagesOf(api)
    expect(shown.map((message) => message.id)).toEqual([id, lastMessage(chat).id])
    expect(model.calls.at(-1)!.prompt).toHaveLength(1)
    const { length } = await log.events()
    const again = open({ api, messages: shown.slice(0, 1) })
    await again.sendMessage({ text: 'One, edited', messageId: id })
    expect(lastMessage(again).id).toBe(lastMessage(chat).id)
    expect(await log.events()).toHaveLength(length)
    await again.sendMessage({ text: 'One, edited twice', messageId: id })
    expect(lastMessage(again).metadata).toMatchObject({ variants: 3 })
  })

  test('a turn that is being cancelled is waited for, and one that had an effect needs force', async () => {
    const model = pacedModel()
    const { api, log } = await start({ model })
    const chat = open({ api })
    const sent = chat.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Once ')
    await chat.stop()
    await sent
    const [cancelled] = await Promise.all([cancel(api), chat.regenerate(), model.answer(2, 'Twice.')])
    expect(cancelled).toMatchObject({ outcome: { status: 'cancelled' } })
    expect(chat.error).toBeUndefined()
    expect(textOf(lastMessage(chat))).toBe('Twice.')
    expect((await log.view()).messages).toHaveLength(2)
  })

  test('past a tool that had an effect the page is told that it needs force', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pay', input: z.object({}), run: () => 'paid' })
    const { api, log } = await start({ model: callsThen([{ tool: 'pay', args: {} }]), tools: [pay] })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Pay' })
    const { length } = await log.events()
    const shown = await messagesOf(api)
    await chat.regenerate()
    expect(chat.error?.message).toContain('force_needed')
    expect(await log.events()).toHaveLength(length)
    const forced = open({ api, messages: shown, body: { force: true } })
    await forced.regenerate()
    expect(forced.error).toBeUndefined()
    expect(lastMessage(forced).metadata).toMatchObject({ variants: 2 })
  })

  test('a busy conversation refuses, or queues when asked to', async () => {
    const model = pacedModel()
    const { api } = await start({ model })
    const chat = open({ api })
    const sent = chat.sendMessage({ text: 'One' })
    const call = await model.called(1)
    const other = open({ api })
    await other.sendMessage({ text: 'Two' })
    expect(other.error?.message).toContain('conversation_busy')
    const patient = open({ api, body: { whenBusy: 'queue' } })
    const queued = patient.sendMessage({ text: 'Three' })
    await until(async () => (await messagesOf(api)).length === 2)
    call.answer('First.')
    await sent
    await model.answer(2, 'Third.')
    await queued
    expect(textOf(lastMessage(patient))).toBe('Third.')
  })
})
