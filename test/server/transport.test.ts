import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { perdureTransport, type TransportOptions } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { gate } from '../stories/gate.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { cuttingFetch } from './programs/cutting-fetch.ts'
import { startServer } from './start-server.ts'
import type { Sdk } from './ui-assemble.ts'
import { type ChatOptions, createChat, lastMessage, messagesOf, partsOf, textOf } from './ui-chat.ts'
import { callsThen, expectTruth, start } from './ui-chat-server.ts'

const versions: Sdk[] = ['v6', 'v7']

describe.each(versions)('perdureTransport with ai %s', (sdk) => {
  const open = ({
    api,
    transport: given,
    ...options
  }: Omit<ChatOptions, 'transport'> & { readonly transport?: Partial<TransportOptions> }) => {
    const transport = perdureTransport({ url: api, chunks: sdk as 'v6' | 'v7', ...given })
    return Object.assign(createChat(sdk, { ...options, api, transport }), { transport })
  }

  test('streams a message, and shows what the log says', async () => {
    const { api } = await start({ model: scriptedModel({ reasoning: 'Hm.', text: ['Hel', 'lo.'] }) })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.status).toBe('ready')
    expect(textOf(lastMessage(chat))).toBe('Hello.')
    await expectTruth(api, lastMessage(chat))
    expect(await chat.transport.messages('c')).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  })

  test('stop() cancels the turn, and the next message is taken at once', async () => {
    const model = pacedModel()
    const { api, log } = await start({ model })
    const chat = open({ api })
    const sent = chat.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Once ')
    await chat.stop()
    await sent
    const again = chat.sendMessage({ text: 'Something else' })
    await model.answer(2, 'Fine.')
    await again
    expect(chat.error).toBeUndefined()
    expect(textOf(lastMessage(chat))).toBe('Fine.')
    expect(
      (await log.events()).flatMap(({ type, content }) => (type === 'turn_ended' ? [content.status] : [])),
    ).toEqual(['cancelled', 'completed'])
  })

  test('stop() before the server has answered cancels that turn, and no other', async () => {
    const model = pacedModel()
    const { api, log } = await start({ model })
    const arrived = gate()
    let posts = 0
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      if (init?.method === 'POST') posts += 1
      if (init?.method === 'POST') await arrived.opened
      return globalThis.fetch(input, init)
    }
    const chat = open({ api, transport: { fetch } })
    const sent = chat.sendMessage({ text: 'Tell' })
    await until(() => posts === 1)
    await chat.stop()
    arrived.open()
    await sent
    await until(async () => (await log.events()).some(({ type }) => type === 'turn_ended'))
    expect((await log.events()).at(-1)).toMatchObject({ content: { status: 'cancelled' } })
  })

  test('a page that is mounted twice, as React does in development, cancels nothing', async () => {
    const model = pacedModel()
    const { api, log } = await start({ model })
    const other = open({ api })
    const sent = other.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    let streams = 0
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      const response = await globalThis.fetch(input, init)
      if (response.status === 200) streams += 1
      return response
    }
    const chat = open({ api, transport: { fetch } })
    const first = chat.resumeStream()
    await until(() => chat.messages.length === 1 && textOf(lastMessage(chat)) === 'Once ')
    void chat.stop()
    const second = chat.resumeStream()
    await first
    await until(() => streams === 2)
    // Longer than a stop waits for a page that is mounted again.
    await new Promise((resolve) => setTimeout(resolve, 300))
    call.answer('upon a time.')
    await Promise.all([second, sent])
    expect(textOf(lastMessage(chat))).toBe('Once upon a time.')
    expect((await log.events()).at(-1)).toMatchObject({ content: { status: 'completed' } })
  })

  test('with cancelOnStop: false it only stops reading, and cancel() ends the turn', async () => {
    const model = pacedModel()
    const { api, log } = await start({ model })
    const chat = open({ api, transport: { cancelOnStop: false } })
    const sent = chat.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Once ')
    await chat.stop()
    await sent
    expect((await log.view()).phase).toBe('running')
    await chat.transport.cancel('c')
    expect((await log.events()).at(-1)).toMatchObject({ content: { status: 'cancelled' } })
  })

  test('connections that are cut anywhere are made again, and nothing is missing or there twice', async () => {
    const words = Array.from({ length: 300 }, (_, n) => `w${n} `)
    const calls = [{ tool: 'look', args: {} }]
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'seen' })
    const model = scriptedModel(({ n }) =>
      n % 2 === 1 ? { reasoning: 'Hm.', text: words.slice(0, 50), calls, delayMs: 1 } : { text: words, delayMs: 1 },
    )
    const { api } = await start({ model, tools: [look] })
    const random = seededRandom(11)
    let cuts = 0
    const lost: unknown[] = []
    const fetch = cuttingFetch(() => (cuts++ < 12 ? random.int(100, 3_000) : null))
    const chat = open({ api, transport: { fetch, onDisconnect: (error) => lost.push(error) } })
    await chat.sendMessage({ text: 'Write' })
    expect(chat.error).toBeUndefined()
    expect(chat.status).toBe('ready')
    expect(lost.length).toBeGreaterThan(3)
    expect(textOf(lastMessage(chat))).toBe(`${words.slice(0, 50).join('')}|${words.join('')}`)
    await expectTruth(api, lastMessage(chat))
  })

  test('a turn that ended while no server was found is shown whole', async () => {
    const model = pacedModel()
    const { api } = await start({ model })
    let isDown = false
    const streams: AbortController[] = []
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      if (isDown) throw new TypeError('fetch failed')
      const cut = new AbortController()
      streams.push(cut)
      return globalThis.fetch(input, { ...init, signal: AbortSignal.any([cut.signal, init!.signal!]) })
    }
    const chat = open({ api, transport: { fetch } })
    const sent = chat.sendMessage({ text: 'Tell' })
    const call = await model.called(1)
    call.say('Once ')
    await until(() => chat.messages.length === 2 && textOf(lastMessage(chat)) === 'Once ')
    isDown = true
    for (const stream of streams) stream.abort()
    call.answer('upon a time.')
    await until(async () => (await messagesOf(api)).at(-1)?.metadata?.status === 'completed')
    isDown = false
    await sent
    expect(textOf(lastMessage(chat))).toBe('Once upon a time.')
    expect(chat.status).toBe('ready')
    await expectTruth(api, lastMessage(chat))
  })

  test('a server that is not found for long enough is an error, and so is a refusal', async () => {
    const { api } = await start({ model: scriptedModel(['Hello.']) })
    const fetch = () => Promise.reject(new TypeError('fetch failed'))
    const chat = open({ api, transport: { fetch, giveUpMs: 0 } })
    await chat.sendMessage({ text: 'Hi' })
    expect(chat.error).toMatchObject({ code: 'server_unreachable' })
    const other = open({ api: api.replace('helper', 'nobody') })
    await other.sendMessage({ text: 'Hi' })
    expect(other.error).toMatchObject({ code: 'agent_missing', status: 404 })
  })

  test('each approval is sent when it is clicked, and survives a reload', async () => {
    const calls = [
      { tool: 'refund', args: { orderId: 'a', cents: 1 } },
      { tool: 'refund', args: { orderId: 'b', cents: 2 } },
    ]
    const { api, log } = await start({ model: callsThen(calls) })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Refund' })
    const asked = partsOf(lastMessage(chat), 'tool-refund')
    expect(asked.map(({ state }) => state)).toEqual(['approval-requested', 'approval-requested'])
    await chat.addToolApprovalResponse({ id: asked[0]!.approval!.id, approved: true })
    await until(async () => (await log.view()).pending.length === 1)
    const reloaded = open({ api })
    reloaded.messages = (await reloaded.transport.messages('c')) as never
    await reloaded.resumeStream()
    const [first, second] = partsOf(lastMessage(reloaded), 'tool-refund')
    expect(first?.state).not.toBe('approval-requested')
    expect(second?.state).toBe('approval-requested')
    await until(() => chat.status === 'ready')
    await chat.addToolApprovalResponse({ id: asked[1]!.approval!.id, approved: false, reason: 'no' })
    await until(() => chat.status === 'ready' && lastMessage(chat).metadata?.status === 'completed')
    await expectTruth(api, lastMessage(chat))
    const answers = (await log.events()).filter(({ type }) => type === 'resolution')
    expect(answers).toMatchObject([{ content: { status: 'resolved' } }, { content: { status: 'denied' } }])
  })

  test('an approval that is clicked while the call before it runs is sent at once', async () => {
    const running = gate()
    const pay = defineTool({
      name: 'pay',
      description: 'Pay',
      input: z.object({ n: z.number() }),
      approval: 'required',
      run: ({ n }) => (n === 1 ? running.opened.then(() => 'one') : 'two'),
    })
    const calls = [1, 2].map((n) => ({ tool: 'pay', args: { n } }))
    const { api, log } = await start({ model: callsThen(calls), tools: [pay] })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Pay' })
    const asked = partsOf(lastMessage(chat), 'tool-pay')
    await chat.addToolApprovalResponse({ id: asked[0]!.approval!.id, approved: true })
    await until(async () => (await log.events()).some(({ type }) => type === 'tool_started'))
    await until(() => chat.status === 'ready')
    await chat.addToolApprovalResponse({ id: asked[1]!.approval!.id, approved: true })
    await until(async () => (await log.view()).pending.length === 0)
    expect(lastMessage(chat).metadata?.status).not.toBe('completed')
    running.open()
    await until(() => chat.status === 'ready' && lastMessage(chat).metadata?.status === 'completed')
    await expectTruth(api, lastMessage(chat))
  })

  test('the page whose answer came second is told who answered, and shows what was answered', async () => {
    const authenticate = (request: Request) => {
      const user = request.headers.get('authorization')?.replace('Bearer ', '')
      return user ? createScope({ user }) : null
    }
    const model = callsThen([{ tool: 'refund', args: { orderId: 'a', cents: 1 } }])
    const { refund } = await import('../support/asking-tools.ts')
    const agents = [defineAgent({ name: 'helper', model, tools: [refund] })]
    const { server, runtime } = await startServer({ agents, serve: { authenticate }, token: 'ann' })
    const api = `${server.url}/ui/helper`
    const told: unknown[] = []
    const ann = open({ api, transport: { token: 'ann' } })
    const bob = open({ api, transport: { token: 'bob' }, onData: (part) => told.push(part) })
    await ann.sendMessage({ text: 'Refund' })
    await bob.resumeStream()
    const [asked] = partsOf(lastMessage(bob), 'tool-refund')
    await ann.addToolApprovalResponse({ id: asked!.approval!.id, approved: true })
    await until(() => lastMessage(ann).metadata?.status === 'completed')
    await bob.addToolApprovalResponse({ id: asked!.approval!.id, approved: false })
    await until(() => lastMessage(bob).metadata?.status === 'completed')
    expect(told).toContainEqual(
      expect.objectContaining({
        type: 'data-late-answer',
        data: expect.objectContaining({
          status: 'resolved',
          kind: 'approval',
          answeredBy: expect.stringContaining('ann'),
        }),
      }),
    )
    expect(partsOf(lastMessage(bob), 'data-question')).toMatchObject([
      { data: { status: 'resolved', answeredBy: expect.stringContaining('ann') } },
    ])
    expect(partsOf(lastMessage(bob), 'tool-refund')).toMatchObject([{ state: 'output-available' }])
    const log = await runtime.conversation('c').events()
    expect(log.filter(({ type }) => type === 'resolution')).toHaveLength(1)
  })

  test('an answer that is sent again because its acknowledgement was lost is not told that it was late', async () => {
    const { api, log } = await start({ model: callsThen([{ tool: 'refund', args: { orderId: 'a', cents: 1 } }]) })
    const told: { type: string }[] = []
    let isLossy = false
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      const response = await globalThis.fetch(input, init)
      if (!isLossy) return response
      isLossy = false
      await response.body?.cancel()
      throw new TypeError('fetch failed')
    }
    const chat = open({ api, transport: { fetch }, onData: (part) => told.push(part) })
    await chat.sendMessage({ text: 'Refund' })
    isLossy = true
    const [asked] = partsOf(lastMessage(chat), 'tool-refund')
    await chat.addToolApprovalResponse({ id: asked!.approval!.id, approved: true })
    await until(() => lastMessage(chat).metadata?.status === 'completed')
    expect(isLossy).toBe(false)
    expect(told.map(({ type }) => type)).not.toContain('data-late-answer')
    await expectTruth(api, lastMessage(chat))
    expect((await log.events()).filter(({ type }) => type === 'resolution')).toHaveLength(1)
  })

  test('a tool of the page is run once and its output sent, though the connection is cut', async () => {
    const { api } = await start({ model: callsThen([{ tool: 'locate', args: { exact: true } }]) })
    const runs: unknown[] = []
    let cuts = 0
    const fetch = cuttingFetch(() => (cuts++ < 3 ? 700 : null))
    const chat = open({
      api,
      transport: { fetch },
      onToolCall: ({ toolCall }) => {
        runs.push(toolCall.toolName)
        void chat.addToolOutput({ tool: 'locate', toolCallId: toolCall.toolCallId, output: { city: 'Bern' } })
      },
    })
    await chat.sendMessage({ text: 'Where?' })
    await until(() => lastMessage(chat).metadata?.status === 'completed')
    expect(runs).toEqual(['locate'])
    await expectTruth(api, lastMessage(chat))
  })

  test('body and metadata are kept: for the tools, and on the message', async () => {
    const seen: unknown[] = []
    const model = scriptedModel(() => 'Hello.')
    const instructions = ({ data }: { data: unknown }) => {
      seen.push(data)
      return 'Be brief.'
    }
    const agents = [defineAgent({ name: 'helper', model, instructions })]
    const { server } = await startServer({ agents })
    const chat = open({ api: `${server.url}/ui/helper`, transport: { body: () => ({ locale: 'de' }) } })
    await (chat.sendMessage as (message: object, options: object) => Promise<void>)(
      { text: 'Hi', metadata: { written: 1 } },
      { body: { page: '/' }, metadata: 'request' },
    )
    expect(seen).toEqual([{ locale: 'de', page: '/', metadata: { written: 1 }, requestMetadata: 'request' }])
    const [said] = await chat.transport.messages('c')
    expect(said).toMatchObject({ role: 'user', metadata: { written: 1 } })
  })

  test('a turn that had an effect is tried again with `force` in the body, and not without', async () => {
    const paid: number[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pay',
      input: z.object({ cents: z.number() }),
      run: ({ cents }) => paid.push(cents),
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)!.role === 'tool' ? 'Done.' : { calls: [{ tool: 'pay', args: { cents: 5 } }] },
    )
    const { api } = await start({ model, tools: [pay] })
    const chat = open({ api })
    await chat.sendMessage({ text: 'Pay' })
    const regenerate = chat.regenerate as (options?: object) => Promise<void>
    await regenerate.call(chat)
    expect(chat.error).toMatchObject({ code: 'force_needed' })
    expect(paid).toEqual([5])
    await regenerate.call(chat, { body: { force: true, page: '/' } })
    expect(chat.status).toBe('ready')
    expect(paid).toEqual([5, 5])
  })

  test('to resume a chat that has no messages yet is quiet, with either transport', async () => {
    const { api } = await start({ model: scriptedModel(['Hello.']) })
    for (const chat of [open({ api, id: 'new' }), createChat(sdk, { api, id: 'new' })]) {
      await chat.resumeStream()
      expect(chat.status).toBe('ready')
      expect(chat.error).toBeUndefined()
    }
    expect((await fetch(`${api}/new/stream`)).status).toBe(204)
    expect(await perdureTransport({ url: api }).messages('new')).toEqual([])
  })
})

test.each([
  [undefined],
  [{}],
  [{ url: 7 }],
  [{ url: 'http://127.0.0.1' }],
  [{ url: 'http://127.0.0.1/ui/' }],
  [{ url: 'http://127.0.0.1/ui/a', chunks: 'v5' }],
  [{ url: 'http://127.0.0.1/ui/a', whenBusy: 'wait' }],
  [{ url: 'http://127.0.0.1/ui/a', giveUpMs: -1 }],
  [{ url: 'http://127.0.0.1/ui/a', silentMs: 'x' }],
  [{ url: 'http://127.0.0.1/ui/a', headers: 'x' }],
  [{ url: 'http://127.0.0.1/ui/a', fetch: 1 }],
])('wrong options are refused when the transport is made: %j', (options) => {
  expect(() => perdureTransport(options as never)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
})
