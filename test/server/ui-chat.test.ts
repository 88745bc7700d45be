import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/agent/define-agent.ts'
import type { LanguageModel } from '../../src/model/language-model.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { Step } from '../../src/testing/scripted-model-step.ts'
import { defineTool } from '../../src/tool/define-tool.ts'
import type { Tool } from '../../src/tool/tool.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { startServer } from './start-server.ts'
import { essence, type Sdk } from './ui-assemble.ts'
import {
  cancel,
  createChat,
  endedMessagesOf,
  lastMessage,
  type Message,
  messagesOf,
  partsOf,
  textOf,
} from './ui-chat.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ cents: z.number().int() }),
  approval: 'required',
  run: ({ cents }) => ({ paid: cents }),
})

const locate = defineTool({
  name: 'locate',
  description: 'Where the person is',
  executor: 'client',
  input: z.object({ exact: z.boolean() }),
  output: z.object({ city: z.string() }),
})

const ask = defineTool({
  name: 'ask',
  description: 'Ask the person',
  executor: 'human',
  input: z.object({ question: z.string() }),
  output: z.object({ text: z.string() }),
})

async function start({ model, tools = [refund, locate, ask] }: { model: LanguageModel; tools?: readonly Tool[] }) {
  const started = await startServer({ agents: [defineAgent({ name: 'helper', model, tools, retry: false })] })
  return { ...started, api: `${started.server.url}/ui/helper`, log: started.runtime.conversation('c') }
}

/** Calls first, then words. */
function callsThen(calls: { tool: string; args: unknown }[], text = 'Done.') {
  return scriptedModel(({ n }): Step => (n === 1 ? { calls } : text))
}

/** What a page shows is what the log says. */
async function expectTruth(api: string, shown: Message, id = 'c'): Promise<void> {
  const truth = (await messagesOf(api, id)).at(-1)!
  expect(essence(shown as never)).toEqual(essence(truth as never))
}

describe.each(['v6', 'v7'] as Sdk[])('ai %s', (sdk) => {
  test('text and reasoning are shown as they are written, with the signature, and stay', async () => {
    const { api, log } = await start({ model: scriptedModel({ reasoning: 'Hm.', text: ['Hel', 'lo.'] }) })
    const chat = createChat(sdk, { api })
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

  test('a call is approved, and its output and the rest of the turn are shown in the same message', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { cents: 5 } }]) })
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Pay' })
    const asked = lastMessage(chat)
    const [part] = partsOf(asked, 'tool-refund')
    expect(part).toMatchObject({ state: 'approval-requested', input: { cents: 5 } })
    expect(asked.metadata).toEqual({ status: 'waiting' })
    expect(partsOf(asked, 'data-question')).toMatchObject([{ data: { kind: 'approval', status: 'open' } }])
    await chat.addToolApprovalResponse({ id: part!.approval!.id, approved: true })
    await until(() => chat.status === 'ready' && textOf(lastMessage(chat)) === 'Done.')
    const shown = lastMessage(chat)
    expect(shown.id).toBe(asked.id)
    expect(chat.messages).toHaveLength(2)
    expect(partsOf(shown, 'tool-refund')).toMatchObject([{ state: 'output-available', output: { paid: 5 } }])
    await expectTruth(api, shown)
    expect((await log.events()).filter(({ type }) => type === 'resolution')).toHaveLength(1)
  })

  test('a denial with its reason is recorded and shown', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { cents: 5 } }], 'Then not.') })
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Pay' })
    const { id } = partsOf(lastMessage(chat), 'tool-refund')[0]!.approval!
    await chat.addToolApprovalResponse({ id, approved: false, reason: 'too much' })
    await until(() => chat.status === 'ready' && textOf(lastMessage(chat)) === 'Then not.')
    expect(partsOf(lastMessage(chat), 'tool-refund')).toMatchObject([{ state: 'output-denied' }])
    await expectTruth(api, lastMessage(chat))
    const resolution = (await log.events()).find(({ type }) => type === 'resolution')
    expect(resolution?.content).toMatchObject({ status: 'denied', value: { reason: 'too much' } })
    const [truth] = partsOf((await messagesOf(api)).at(-1)!, 'tool-refund')
    expect(truth?.approval).toMatchObject({ approved: false, reason: 'too much' })
  })

  test('several calls are answered each in its own way, and the turn goes on when all are', async () => {
    const calls = [1, 2, 3].map((cents) => ({ tool: 'refund', args: { cents } }))
    const { api } = await start({ model: callsThen(calls) })
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Pay' })
    const ids = partsOf(lastMessage(chat), 'tool-refund').map(({ approval }) => approval!.id)
    await chat.addToolApprovalResponse({ id: ids[0]!, approved: true })
    await chat.addToolApprovalResponse({ id: ids[1]!, approved: false })
    // What is sent before all is answered is recorded, and the rest still waits.
    await chat.sendMessage()
    expect(partsOf(lastMessage(chat), 'tool-refund').map(({ state }) => state)).toEqual([
      'output-available',
      'output-denied',
      'approval-requested',
    ])
    await chat.addToolApprovalResponse({ id: ids[2]!, approved: true })
    await until(() => chat.status === 'ready' && textOf(lastMessage(chat)) === 'Done.')
    await expectTruth(api, lastMessage(chat))
  })

  test('who answers second is shown how it was answered, and a second click changes nothing', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { cents: 5 } }]) })
    const [first, second] = [createChat(sdk, { api }), createChat(sdk, { api })]
    await first.sendMessage({ text: 'Pay' })
    second.messages = structuredClone(first.messages)
    const { id } = partsOf(lastMessage(first), 'tool-refund')[0]!.approval!
    await first.addToolApprovalResponse({ id, approved: false })
    await until(() => textOf(lastMessage(first)) === 'Done.' && first.status === 'ready')
    await second.addToolApprovalResponse({ id, approved: true })
    await until(() => textOf(lastMessage(second)) === 'Done.' && second.status === 'ready')
    expect(partsOf(lastMessage(second), 'tool-refund')).toMatchObject([{ state: 'output-denied' }])
    expect(partsOf(lastMessage(second), 'tool-refund')[0]!.approval?.approved).not.toBe(true)
    await expectTruth(api, lastMessage(second))
    expect((await log.events()).filter(({ type }) => type === 'resolution')).toHaveLength(1)
  })

  test('an approval that comes too late is shown as expired', async () => {
    const hasty = defineTool({
      name: 'refund',
      description: 'Pay',
      input: z.object({ cents: z.number() }),
      approval: 'required',
      expiresInMs: 1,
      run: () => 'paid',
    })
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { cents: 5 } }]), tools: [hasty] })
    const slow = createChat(sdk, { api })
    await slow.sendMessage({ text: 'Pay' })
    const [part] = partsOf(lastMessage(slow), 'tool-refund')
    await until(async () => (await log.view()).state === 'idle')
    if (part!.state === 'approval-requested') {
      await slow.addToolApprovalResponse({ id: part!.approval!.id, approved: true })
      await until(() => textOf(lastMessage(slow)) === 'Done.' && slow.status === 'ready')
    }
    expect(partsOf(lastMessage(slow), 'tool-refund')).toMatchObject([
      { state: 'output-error', errorText: 'tool call expired: no response' },
    ])
    await expectTruth(api, lastMessage(slow))
  })

  test('a client tool runs in the page, once, also when another page resumes', async () => {
    const { api } = await start({ model: callsThen([{ tool: 'locate', args: { exact: true } }], 'You are in Rome.') })
    const runs: unknown[] = []
    const chat = createChat(sdk, {
      api,
      onToolCall({ toolCall }) {
        runs.push(toolCall.input)
        void chat.addToolOutput({ tool: 'locate', toolCallId: toolCall.toolCallId, output: { city: 'Rome' } })
      },
    })
    await chat.sendMessage({ text: 'Where am I?' })
    await until(() => textOf(lastMessage(chat)) === 'You are in Rome.' && chat.status === 'ready')
    expect(partsOf(lastMessage(chat), 'tool-locate')).toMatchObject([
      { state: 'output-available', input: { exact: true }, output: { city: 'Rome' } },
    ])
    await expectTruth(api, lastMessage(chat))
    expect(runs).toEqual([{ exact: true }])
  })

  test('a client tool that fails, and one that gives what was not asked for', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'locate', args: { exact: true } }]) })
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Where am I?' })
    const { toolCallId } = partsOf(lastMessage(chat), 'tool-locate')[0]!
    await chat.addToolOutput({ tool: 'locate', toolCallId: toolCallId!, output: { town: 1 } })
    await until(() => chat.status === 'error')
    expect(chat.error?.message).toContain('invalid_answer')
    expect((await log.view()).state).toBe('awaiting_input')
    // It says the truth again, so the page can try again.
    await chat.resumeStream()
    expect(partsOf(lastMessage(chat), 'tool-locate')).toMatchObject([{ state: 'input-available' }])
    await chat.addToolOutput({ tool: 'locate', toolCallId: toolCallId!, state: 'output-error', errorText: 'no signal' })
    await until(() => textOf(lastMessage(chat)) === 'Done.' && chat.status === 'ready')
    expect(partsOf(lastMessage(chat), 'tool-locate')).toMatchObject([{ state: 'output-error', errorText: 'no signal' }])
    await expectTruth(api, lastMessage(chat))
  })

  test('a gated client tool does not run before it is approved', async () => {
    const gated = defineTool({
      name: 'locate',
      description: 'Where the person is',
      executor: 'client',
      approval: 'required',
      input: z.object({ exact: z.boolean() }),
      output: z.object({ city: z.string() }),
    })
    const { api } = await start({ model: callsThen([{ tool: 'locate', args: { exact: true } }]), tools: [gated] })
    const runs: unknown[] = []
    const chat = createChat(sdk, {
      api,
      onToolCall({ toolCall }) {
        runs.push(toolCall.input)
        void chat.addToolOutput({ tool: 'locate', toolCallId: toolCall.toolCallId, output: { city: 'Rome' } })
      },
    })
    await chat.sendMessage({ text: 'Where am I?' })
    const [part] = partsOf(lastMessage(chat), 'tool-locate')
    expect(part).toMatchObject({ state: 'approval-requested', input: { exact: true } })
    expect(runs).toEqual([])
    await chat.addToolApprovalResponse({ id: part!.approval!.id, approved: true })
    await until(() => textOf(lastMessage(chat)) === 'Done.' && chat.status === 'ready')
    expect(runs).toEqual([{ exact: true }])
    await expectTruth(api, lastMessage(chat))
  })

  test('a question comes with its form and is answered as a tool is', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'ask', args: { question: 'Which?' } }]) })
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Order' })
    expect(partsOf(lastMessage(chat), 'data-question')).toMatchObject([
      {
        data: {
          kind: 'elicitation',
          tool: 'ask',
          status: 'open',
          schema: { properties: { text: { type: 'string' } } },
        },
      },
    ])
    const [part] = partsOf(lastMessage(chat), 'tool-ask')
    expect(part).toMatchObject({ state: 'input-available', input: { question: 'Which?' } })
    await chat.addToolOutput({ tool: 'ask', toolCallId: part!.toolCallId!, output: { text: 'The blue one' } })
    await until(() => textOf(lastMessage(chat)) === 'Done.' && chat.status === 'ready')
    expect(partsOf(lastMessage(chat), 'data-question')).toMatchObject([{ data: { status: 'resolved' } }])
    await expectTruth(api, lastMessage(chat))
    expect((await log.events()).find(({ type }) => type === 'resolution')?.content).toMatchObject({
      value: { text: 'The blue one' },
    })
  })

  test('a page that was reloaded resumes in the middle of a message; nothing is resumed when nothing goes on', async () => {
    const model = pacedModel()
    const { api, server } = await start({ model })
    const before = createChat(sdk, { api })
    const sent = before.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => before.messages.length === 2 && textOf(lastMessage(before)) === 'Once ')
    await before.stop()
    await sent
    call.say('upon ')
    const after = createChat(sdk, { api, messages: await endedMessagesOf(api) })
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
    const [chat, other] = [createChat(sdk, { api }), createChat(sdk, { api })]
    const sent = chat.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Once ')
    await chat.stop()
    await sent
    expect(chat.status).toBe('ready')
    expect((await log.view()).state).toBe('running')
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
    const chat = createChat(sdk, { api })
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
    const chat = createChat(sdk, { api })
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
    const chat = createChat(sdk, { api })
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
    const chat = createChat(sdk, { api, onData: (part) => void told.push([part.type, part.data]) })
    await chat.sendMessage({ text: 'Dig' })
    expect(told).toEqual([['data-progress', { callId: expect.any(String), progress: { metres: 3 } }]])
    await expectTruth(api, lastMessage(chat))
  })

  test('an answer that is there is not written anew; a message that never arrived is sent', async () => {
    const { api, log } = await start({ model: scriptedModel(() => 'Hello.') })
    const chat = createChat(sdk, { api })
    await chat.sendMessage({ text: 'Hi' })
    await chat.regenerate()
    expect(chat.error?.message).toContain('turn_ended')
    expect(await log.events()).toHaveLength(3)
    const [said] = await messagesOf(api)
    const lost = createChat(sdk, { api, messages: [{ ...said!, id: 'never-arrived' }] })
    await lost.regenerate()
    expect(textOf(lastMessage(lost))).toBe('Hello.')
    expect(await log.events()).toHaveLength(6)
  })

  test('a busy conversation refuses, or queues when asked to', async () => {
    const model = pacedModel()
    const { api } = await start({ model })
    const chat = createChat(sdk, { api })
    const sent = chat.sendMessage({ text: 'One' })
    const call = await model.called(1)
    const other = createChat(sdk, { api })
    await other.sendMessage({ text: 'Two' })
    expect(other.error?.message).toContain('conversation_busy')
    const patient = createChat(sdk, { api, body: { whenBusy: 'queue' } })
    const queued = patient.sendMessage({ text: 'Three' })
    await until(async () => (await messagesOf(api)).length === 2)
    call.answer('First.')
    await sent
    await model.answer(2, 'Third.')
    await queued
    expect(textOf(lastMessage(patient))).toBe('Third.')
  })
})
