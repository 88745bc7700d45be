import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import { type McpHandlerOptions, mcpHandler } from '../../src/mcp/server/mcp-handler.ts'
import { requestsFor } from '../../src/mcp/server/pending-input.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { RuntimeOptions } from '../../src/runtime/runtime.ts'
import { bearerToken } from '../../src/server/guard/secret.ts'
import { toNodeListener } from '../../src/server/node/to-node-listener.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { onlyPendingOf } from '../stories/pending-of.ts'
import { toolResults } from '../stories/tool-results.ts'

vi.setConfig({ testTimeout: 30_000 })

/** What comes over the wire, as deep as a test looks into it. */
type Answered = ReturnType<typeof JSON.parse>

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const secret = 'a secret of at least thirty-two bytes'

/** A desk that refunds after an approval, and asks for an address; `paid` counts the effects. */
function desk(paid: unknown[], name = 'desk') {
  const refund = defineTool({
    name: 'refund',
    description: 'Pay an order back',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    describe: ({ cents }) => `Refund ${cents} cents.`,
    run: ({ cents }) => paid.push(cents),
  })
  const ask = defineTool({
    name: 'ask_address',
    description: 'Ask for the address',
    executor: 'human',
    input: z.object({}),
    output: z.object({ city: z.string() }),
  })
  const choose = defineTool({
    name: 'choose',
    description: 'Choose several',
    executor: 'human',
    input: z.object({}),
    output: z.array(z.string()),
  })
  const model = scriptedModel(({ prompt }) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.'
    const said = JSON.stringify(prompt.at(-1)?.content)
    if (said.includes('eleven refunds'))
      return { calls: Array.from({ length: 11 }, (_, n) => ({ tool: 'refund', args: { cents: n } })) }
    if (said.includes('refund')) return { calls: [{ tool: 'refund', args: { cents: 500 } }] }
    if (said.includes('a tale')) return { text: 'Once upon a', finishReason: 'length' }
    if (said.includes('choose')) return { calls: [{ tool: 'choose', args: {} }] }
    return said.includes('address') ? { calls: [{ tool: 'ask_address', args: {} }] } : 'Hello.'
  })
  return defineAgent({ name, model, tools: [refund, ask, choose] })
}

async function serveDesk(options: Partial<RuntimeOptions> = {}, served: Partial<McpHandlerOptions> = {}) {
  const paid: unknown[] = []
  const store = options.store ?? memoryStore()
  const runtime = createRuntime({
    secret,
    ...options,
    agents: [desk(paid), desk(paid, 'cash')],
    store,
  } as RuntimeOptions)
  const handler = mcpHandler(runtime, {
    authenticate: (request) => {
      const user = bearerToken(request)
      return user ? createScope({ user }) : null
    },
    ...served,
  })
  const http = createServer(toNodeListener(handler))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  ends.push(async () => {
    await handler.close()
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
    await runtime.close({ drainMs: 0 })
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  return { url, runtime, paid, handler }
}

async function official(url: string, user = 'ann', capabilities: object = { elicitation: { form: {} } }) {
  const client = new Client(
    { name: 'official', version: '1' },
    { capabilities, versionNegotiation: { mode: 'auto' }, inputRequired: { autoFulfill: false } },
  )
  const requestInit = { headers: { authorization: `Bearer ${user}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  ends.push(() => client.close())
  const call = async (name: string, args: object, more: object = {}) =>
    (await client.callTool({ name, arguments: args, ...more } as never, { allowInputRequired: true })) as {
      readonly [key: string]: Answered
    }
  return { client, call }
}

const asked = ({ callId, round }: Answered) => ({ callId, round })

describe('agents served to the official client', () => {
  test('are tools whose result has the conversation, which can be gone on with and read', async () => {
    const { url } = await serveDesk()
    const { client, call } = await official(url)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['desk', 'cash', 'list_waiting', 'answer_waiting'])
    // A client may ask its person first, because an answer lets tools run.
    expect(tools.at(-1)?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true })
    const first = await call('desk', { message: 'hi' })
    expect(first).toMatchObject({
      content: [{ type: 'text', text: 'Hello.' }],
      structuredContent: { status: 'completed' },
    })
    const { conversation } = first['structuredContent']
    const second = await call('desk', { message: 'hi again', conversation })
    expect(second['structuredContent'].conversation).toBe(conversation)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual([`perdure://conversations/${conversation}`])
    const { contents } = await client.readResource({ uri: resources[0]!.uri })
    expect(JSON.stringify(contents)).toContain('hi again')
  })

  test('a call that waits for a person answers input_required, and goes on with the answer, once', async () => {
    const { url, paid } = await serveDesk()
    const { call } = await official(url)
    const waiting = await call('desk', { message: 'refund please' })
    expect(waiting).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
    const [key, request] = Object.entries<Answered>(waiting['inputRequests'])[0]!
    expect(request.params.message).toContain('Refund 500 cents.')
    const response = { [key]: { action: 'accept', content: { approve: true } } }
    const more = { inputResponses: response, requestState: waiting['requestState'] }
    const [one, other] = await Promise.all([
      call('desk', { message: 'refund please' }, more),
      call('desk', { message: 'refund please' }, more),
    ])
    expect([one, other]).toMatchObject([
      { structuredContent: { text: 'Done.' } },
      { structuredContent: { text: 'Done.' } },
    ])
    expect(paid).toEqual([500])
  })

  test('a declined approval is denied, and a declined question still waits in the inbox', async () => {
    const { url, paid } = await serveDesk()
    const { call } = await official(url)
    const decline = async (message: string) => {
      const { inputRequests, requestState } = await call('desk', { message })
      const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'decline' } }
      return call('desk', { message }, { inputResponses, requestState })
    }
    expect(await decline('refund')).toMatchObject({ structuredContent: { status: 'completed' } })
    expect(paid).toEqual([])
    expect(await decline('address')).toMatchObject({ structuredContent: { status: 'waiting' } })
    const { items } = (await call('list_waiting', {}))['structuredContent']
    expect(items).toMatchObject([{ tool: 'ask_address', kind: 'elicitation' }])
    const { conversationId: conversation, callId, round } = items[0]
    expect(await call('answer_waiting', { conversation, callId, round, value: { city: 7 } })).toMatchObject({
      isError: true,
    })
    const answered = await call('answer_waiting', { conversation, callId, round, value: { city: 'Graz' } })
    expect(answered['structuredContent']).toEqual({ accepted: true })
  })

  test('a question with a flat schema is asked as a form, any other as the text of its JSON', async () => {
    const { url } = await serveDesk()
    const { call } = await official(url)
    const ask = async (message: string) => {
      const { inputRequests, requestState } = await call('desk', { message })
      const [[key, request]] = Object.entries<Answered>(inputRequests) as [[string, Answered]]
      const answer = (content: object) =>
        call('desk', { message }, { inputResponses: { [key]: { action: 'accept', content } }, requestState })
      return { form: request.params.requestedSchema, answer }
    }
    const flat = await ask('address')
    expect(flat.form).toEqual({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })
    expect(await flat.answer({ city: 7 })).toMatchObject({ isError: true })
    expect(await flat.answer({ city: 'Graz' })).toMatchObject({ structuredContent: { text: 'Done.' } })
    const list = await ask('choose')
    expect(list.form.properties.json.description).toContain('"type":"array"')
    expect(await list.answer({ json: '["a"' })).toMatchObject({ isError: true })
    expect(await list.answer({ json: '["a"]' })).toMatchObject({ structuredContent: { text: 'Done.' } })
  })

  test('a client of the older protocol is served too, and told what waits', async () => {
    const { url } = await serveDesk()
    const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } })
    const requestInit = { headers: { authorization: 'Bearer ann' } }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    ends.push(() => client.close())
    const said = (message: string) => client.callTool({ name: 'desk', arguments: { message } })
    expect(await said('hi')).toMatchObject({ structuredContent: { status: 'completed', text: 'Hello.' } })
    expect(await said('refund')).toMatchObject({ structuredContent: { status: 'waiting' } })
  })

  test('a client that cannot be asked is told what waits', async () => {
    const { url } = await serveDesk()
    const { call } = await official(url, 'ann', {})
    const { structuredContent } = await call('desk', { message: 'refund' })
    const pending = [{ kind: 'approval', tool: 'refund', description: 'Refund 500 cents.' }]
    expect(structuredContent).toMatchObject({ status: 'waiting', pending })
  })

  test('an answer that was cut off at its length does not look complete', async () => {
    const { url } = await serveDesk()
    const { call } = await official(url)
    expect(await call('desk', { message: 'a tale' })).toMatchObject({
      content: [{ text: 'Once upon a\n[This answer was cut off at its length limit.]' }],
      structuredContent: { status: 'completed', text: 'Once upon a', finishReason: 'length' },
    })
    expect((await call('desk', { message: 'hi' }))['structuredContent']).not.toHaveProperty('finishReason')
  })

  test('a question that comes again says that the same was done before', async () => {
    const { url, runtime } = await serveDesk()
    const { call } = await official(url, 'ann', {})
    const { conversation, pending } = (await call('desk', { message: 'refund' }))['structuredContent']
    await call('answer_waiting', { conversation, ...asked(pending[0]), value: true })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation(conversation)
    expect(await chat.outcome()).toMatchObject({ status: 'completed' })
    expect(await (await chat.retry(undefined, { force: true })).outcome()).toMatchObject({ status: 'waiting' })
    const { items } = (await call('list_waiting', {}))['structuredContent']
    expect(items).toMatchObject([{ doneBefore: { outcome: 'done' } }])
    const [[, request]] = Object.entries<Answered>(requestsFor((await chat.view()).pending)) as [[string, Answered]]
    expect(request.params.message).toMatch(/^The same was done in the variant before this one\. May refund run\? /)
  })

  test('a state that was changed, is of another secret or of another agent is refused', async () => {
    const { url, paid } = await serveDesk()
    const { call } = await official(url)
    const { inputRequests, requestState } = await call('desk', { message: 'refund' })
    const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'accept', content: { approve: true } } }
    const [text, signature] = requestState.split('.')
    const forged = Buffer.from(Buffer.from(text, 'base64url').toString().replace('desk', 'cash')).toString('base64url')
    for (const state of ['nonsense', `${text}.${'A'.repeat(43)}`, `${forged}.${signature}`, `${requestState}.x`]) {
      const refused = await call('desk', { message: 'refund' }, { inputResponses, requestState: state })
      expect(refused).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('not made by this server') }],
      })
    }
    const given = { inputResponses, requestState }
    const other = await official((await serveDesk({ secret: secret.toUpperCase() })).url)
    for (const refused of [
      await call('cash', { message: 'refund' }, given),
      await other.call('desk', { message: 'refund' }, given),
    ])
      expect(refused).toMatchObject({ content: [{ text: expect.stringContaining('not made by this server') }] })
    expect(paid).toEqual([])
    expect(await call('desk', { message: 'refund' }, given)).toMatchObject({ structuredContent: { text: 'Done.' } })
  })

  test('only what was asked about is answered', async () => {
    const { url, runtime, paid } = await serveDesk()
    const { call } = await official(url)
    const { inputRequests, requestState } = await call('desk', { message: 'eleven refunds' })
    const items = await runtime.as(createScope({ user: 'ann' })).inbox()
    expect(items).toHaveLength(11)
    const unasked = items.map(({ callId, round }) => `${callId}/${round}`).filter((key) => !(key in inputRequests))
    expect(unasked).toHaveLength(1)
    const inputResponses = { [unasked[0]!]: { action: 'accept', content: { approve: true } } }
    await call('desk', { message: 'eleven refunds' }, { inputResponses, requestState })
    expect(await runtime.as(createScope({ user: 'ann' })).inbox()).toHaveLength(11)
    expect(paid).toEqual([])
  })
})

describe('who may do what', () => {
  test('a request without credentials, of a foreign host or origin is refused', async () => {
    const { handler } = await serveDesk()
    const ask = async (headers: Record<string, string>, url = 'http://localhost/mcp') =>
      (
        await handler(
          new Request(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', ...headers } }),
        )
      ).status
    expect(await ask({})).toBe(401)
    expect(await ask({ authorization: 'Bearer ann' }, 'http://evil.example/mcp')).toBe(403)
    expect(await ask({ authorization: 'Bearer ann', origin: 'https://evil.example' })).toBe(403)
    expect(await ask({ authorization: 'Bearer ann', 'x-long': 'x'.repeat(20_000) })).toBe(413)
    const { runtime } = await serveDesk()
    expect(() => mcpHandler(runtime, {} as never)).toThrow('authenticate')
  })

  test('authorize decides: what another user opened can be neither read, answered nor gone on with', async () => {
    const { url, paid } = await serveDesk({
      authorize: ({ scope }: { readonly scope: { readonly user?: string } }) => ({ owner: scope.user ?? '' }),
    } as never)
    const ann = await official(url, 'ann')
    const eve = await official(url, 'eve')
    const waiting = await ann.call('desk', { message: 'refund' })
    const uri = (await ann.client.listResources()).resources[0]!.uri
    const conversation = decodeURIComponent(uri.split('/').at(-1)!)
    expect((await eve.client.listResources()).resources).toEqual([])
    await expect(eve.client.readResource({ uri })).rejects.toThrow()
    expect(await eve.call('desk', { message: 'hi', conversation })).toMatchObject({ isError: true })
    const inputResponses = {
      [Object.keys(waiting['inputRequests'])[0]!]: { action: 'accept', content: { approve: true } },
    }
    const stolen = await eve.call(
      'desk',
      { message: 'refund' },
      { inputResponses, requestState: waiting['requestState'] },
    )
    expect(stolen).toMatchObject({ isError: true })
    expect(paid).toEqual([])
  })
})

test('a client that may not approve sees what waits, and neither of its ways to answer counts', async () => {
  const { url, runtime, paid } = await serveDesk({
    authorize: ({ scope, action }: { readonly scope: { readonly user?: string }; readonly action: string }) =>
      scope.user !== 'bot' || action !== 'approve',
  } as never)
  const { call } = await official(url, 'bot')
  const { inputRequests, requestState } = await call('desk', { message: 'refund' })
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'accept', content: { approve: true } } }
  expect(await call('desk', { message: 'refund' }, { inputResponses, requestState })).toMatchObject({ isError: true })
  const [item] = (await call('list_waiting', {}))['structuredContent'].items
  const { conversationId: conversation, callId, round } = item
  expect(await call('answer_waiting', { conversation, callId, round, value: true })).toMatchObject({ isError: true })
  expect(paid).toEqual([])
  const chat = runtime.as(createScope({ user: 'ann' })).conversation(conversation)
  await chat.approve({ callId, round })
  expect(await chat.outcome()).toMatchObject({ status: 'completed' })
  expect(paid).toEqual([500])
})

test('a state is worth nothing in another tenant, and no more than once in its own', async () => {
  const { url, paid } = await serveDesk(
    {},
    {
      authenticate: (request) => {
        const [user = '', tenant = 'default'] = (bearerToken(request) ?? '').split('@')
        return user ? createScope({ user, tenant }) : null
      },
    },
  )
  const [ann, other] = [await official(url, 'ann'), await official(url, 'ann@other')]
  const { inputRequests, requestState } = await ann.call('desk', { message: 'refund' })
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'accept', content: { approve: true } } }
  const more = { inputResponses, requestState }
  expect(await other.call('desk', { message: 'refund' }, more)).toMatchObject({ isError: true })
  expect(paid).toEqual([])
  for (let times = 0; times < 3; times++)
    expect(await ann.call('desk', { message: 'refund' }, more)).toMatchObject({ structuredContent: { text: 'Done.' } })
  expect(paid).toEqual([500])
})

test('our client and our server: a question passes through both, and its answer comes back', async () => {
  const { url, paid } = await serveDesk()
  const tools = mcpTools(
    { url, allowPrivateAddresses: true, headers: { authorization: 'Bearer ann' } },
    { name: 'remote', defaults: { approval: 'auto' } },
  )
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'All done.' : { calls: [{ tool: 'remote__desk', args: { message: 'refund' } }] },
  )
  const agent = defineAgent({ name: 'front', model, toolSources: [tools] })
  const runtime = createRuntime({ agents: [agent], store: memoryStore() })
  ends.push(() => runtime.close({ drainMs: 0 }))
  const chat = runtime.conversation('c1', { agent: 'front' })
  const turn = await chat.send('Refund it.')
  const item = await onlyPendingOf(turn)
  expect(item).toMatchObject({ kind: 'elicitation', prompt: expect.stringContaining('Refund 500 cents.') })
  await chat.answer(item, { approve: true })
  expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'All done.' })
  expect(paid).toEqual([500])
  expect(toolResults(model, 2)).toMatchObject([['remote__desk', { value: { status: 'completed', text: 'Done.' } }]])
})
