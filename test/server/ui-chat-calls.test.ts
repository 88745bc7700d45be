import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/define/define-tool.ts'
import { gate } from '../stories/gate.ts'
import { until } from '../stories/until.ts'
import { refund } from '../support/asking-tools.ts'
import { type ChatOptions, createChat, lastMessage, messagesOf, partsOf, textOf } from './ui-chat.ts'
import { callsThen, clients, expectTruth, noMessage, start } from './ui-chat-server.ts'

describe.each(clients)('ai %s%s', (sdk, query) => {
  const open = ({ api, ...options }: ChatOptions) => createChat(sdk, { ...options, api: api + query })

  test('a call is approved, and its output and the rest of the turn are shown in the same message', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { cents: 5 } }]) })
    const chat = open({ api })
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
    const chat = open({ api })
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
    const chat = open({ api })
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

  test('an approval that is given while another call runs is sent when that has ended', async () => {
    const { opened, open: finish } = gate()
    const dig = defineTool({
      name: 'dig',
      description: 'Dig',
      input: z.object({}),
      run: () => opened.then(() => 'deep'),
    })
    const calls = [
      { tool: 'refund', args: { cents: 5 } },
      { tool: 'dig', args: {} },
    ]
    const { api } = await start({ model: callsThen(calls), tools: [refund, dig] })
    const chat = open({ api })
    const sent = chat.sendMessage({ text: 'Pay and dig' })
    const part = await until(() =>
      partsOf(chat.messages[1] ?? noMessage, 'tool-refund').find(({ approval }) => approval),
    )
    await chat.addToolApprovalResponse({ id: part.approval!.id, approved: true })
    expect(chat.status).toBe('streaming')
    finish()
    await sent
    await until(() => chat.status === 'ready' && textOf(lastMessage(chat)) === 'Done.')
    expect(partsOf(lastMessage(chat), 'tool-refund')).toMatchObject([{ output: { paid: 5 } }])
    expect(partsOf(lastMessage(chat), 'tool-dig')).toMatchObject([{ output: 'deep' }])
    await expectTruth(api, lastMessage(chat))
  })

  test('who answers second is shown how it was answered, and a second click changes nothing', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { cents: 5 } }]) })
    const [first, second] = [open({ api }), open({ api })]
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
    const slow = open({ api })
    await slow.sendMessage({ text: 'Pay' })
    const [part] = partsOf(lastMessage(slow), 'tool-refund')
    await until(async () => (await log.view()).phase === 'idle')
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
    const chat = open({
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
    const chat = open({ api })
    await chat.sendMessage({ text: 'Where am I?' })
    const { toolCallId } = partsOf(lastMessage(chat), 'tool-locate')[0]!
    await chat.addToolOutput({ tool: 'locate', toolCallId: toolCallId!, output: { town: 1 } })
    await until(() => chat.status === 'error')
    expect(chat.error?.message).toContain('invalid_answer')
    expect((await log.view()).phase).toBe('waiting')
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
    const chat = open({
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
    const chat = open({ api })
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
})
