import { expect, test } from 'vitest'
import { createClient, perdureTransport } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { startServer } from './start-server.ts'

const secret = 'a-secret-of-more-than-thirty-two-bytes'
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 1, 2, 3])
const authenticate = (request: Request) => {
  const tenant = request.headers.get('authorization')?.replace('Bearer ', '')
  return tenant ? createScope({ tenant, user: 'ann' }) : null
}
const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }

type Given = { readonly mediaType?: string; readonly secret?: string | readonly string[]; readonly logged?: string[] }

async function start({ mediaType = 'image/png', logged = [], ...given }: Given = { secret }) {
  const clock = fakeClock()
  const agents = [defineAgent({ name: 'helper', model: scriptedModel(() => 'A picture.') })]
  const logger = { debug() {}, info() {}, error() {}, warn: (text: string) => void logged.push(text) }
  const { server, runtime } = await startServer({
    agents,
    serve: { authenticate },
    token: 'acme',
    runtime: () => ({ clock, logger, ...given }),
  })
  const chat = runtime.as(createScope({ tenant: 'acme', user: 'ann' })).conversation('c', { agent: 'helper' })
  const data = `data:${mediaType};base64,${Buffer.from(png).toString('base64')}`
  const { turnId } = await chat.send([{ type: 'file', mediaType, data }], { key: 'm1' })
  await chat.turn(turnId).outcome()
  const transport = perdureTransport({ url: `${server.url}/ui/helper`, token: 'acme' })
  const urlOf = async (): Promise<string> =>
    ((await transport.messages('c'))[0]!.parts[0] as unknown as { url: string }).url
  return { server, runtime, clock, transport, url: await urlOf(), urlOf, chat }
}

test('a page of another origin loads a file by the address that its message has, without an identity', async () => {
  const { server, url } = await start()
  expect(url).toMatch(new RegExp(`^${server.url}/conversations/c/files/[0-9a-f]{64}\\?signed=`))
  const response = await fetch(url, { headers: crossSite })
  expect(response.status).toBe(200)
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(png)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': 'inline',
    'cross-origin-resource-policy': 'cross-origin',
    'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  })
})

test.each(['text/html', 'image/svg+xml', 'text/html; charset=utf-8', 'application/xhtml+xml', 'text/javascript'])(
  'what could run something is a download, also by its signed address: %s',
  async (mediaType) => {
    const { url } = await start({ mediaType, secret })
    const response = await fetch(url)
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
    expect(response.headers.get('content-disposition')).toBe('attachment')
  },
)

test('an address is good for half an hour to an hour, for its own file, conversation and tenant alone', async () => {
  const { server, runtime, url, urlOf, clock, chat } = await start()
  const { searchParams, pathname } = new URL(url)
  const signed = searchParams.get('signed')!
  const blob = pathname.slice(-64)
  const [expires, tenant, signature] = signed.split('.') as [string, string, string]
  await chat.fork({ id: 'fork' })
  await runtime
    .as(createScope({ tenant: 'other', user: 'bob' }))
    .conversation('c', { agent: 'helper' })
    .send('hi')
  const other = Buffer.from('other').toString('base64url')
  for (const wrong of [
    `/conversations/fork/files/${blob}?signed=${signed}`,
    `/conversations/c/files/${'0'.repeat(64)}?signed=${signed}`,
    `/conversations/c/files/${blob}?signed=${expires}.${other}.${signature}`,
    `/conversations/c/files/${blob}?signed=${Number(expires) + 1}.${tenant}.${signature}`,
    `/conversations/c/files/${blob}?signed=${expires}.${tenant}.${signature.slice(1)}A`,
    `/conversations/c/files/${blob}?signed=`,
    `/conversations/c/files/${blob}?signed=${'x'.repeat(1_000)}`,
    `/conversations/c/files/${blob}`,
  ]) {
    expect((await fetch(server.url + wrong)).status, wrong).toBe(401)
    expect((await fetch(server.url + wrong, { headers: crossSite })).status, wrong).toBe(403)
  }
  expect((await fetch(url, { method: 'POST' })).status).toBe(405)
  expect((await fetch(url, { method: 'DELETE', headers: crossSite })).status).toBe(403)
  expect(await urlOf()).toBe(url)
  await clock.set(clock.now() + 29 * 60_000)
  expect((await fetch(url, { headers: crossSite })).status).toBe(200)
  await clock.set(clock.now() + 31 * 60_000)
  expect((await fetch(url, { headers: crossSite })).status).toBe(403)
  expect((await fetch(url)).status).toBe(401)
  // Who has an identity does not need the signature.
  expect((await fetch(url, { headers: { authorization: 'Bearer acme' } })).status).toBe(200)
  expect((await fetch(await urlOf(), { headers: crossSite })).status).toBe(200)
})

test('a file of a conversation that was deleted is gone, whatever address is known', async () => {
  const { url, chat } = await start()
  await chat.delete()
  expect((await fetch(url)).status).toBe(404)
})

test('all nodes accept what one has signed when they have its secret, and a secret can be replaced', async () => {
  const one = await start()
  const signed = new URL(one.url).search
  const blob = new URL(one.url).pathname.slice(-64)
  const next = 'another-secret-of-more-than-32-bytes-x'
  const both = await start({ secret: [next, secret] })
  const after = await start({ secret: next })
  const at = (url: string) => fetch(`${url}/conversations/c/files/${blob}${signed}`, { headers: crossSite })
  expect((await at(both.server.url)).status).toBe(200)
  expect((await at(after.server.url)).status).toBe(403)
})

test('without a secret an address is good in its own process, and another says why it refused it', async () => {
  const logged: string[] = []
  const one = await start({})
  const other = await start({ logged })
  expect((await fetch(one.url, { headers: crossSite })).status).toBe(200)
  const elsewhere = one.url.replace(one.server.url, other.server.url)
  for (let times = 0; times < 3; times++) expect((await fetch(elsewhere, { headers: crossSite })).status).toBe(403)
  expect(logged.filter((text) => text.includes('secret'))).toHaveLength(1)
})

test('a message that is sent again with the address of its file is the same message', async () => {
  const { transport, server, url } = await start()
  const [said] = await transport.messages('c')
  const stream = await transport.sendMessages({
    trigger: 'submit-message',
    chatId: 'c',
    messageId: undefined,
    messages: [said!],
  })
  for await (const _ of stream) void _
  const client = createClient({ url: server.url, token: 'acme' })
  const events = await client.conversation('c').events()
  expect(events.filter(({ type }) => type === 'user_msg')).toHaveLength(1)
  expect(JSON.stringify(events)).not.toContain(new URL(url).search)
})

test('requests by signed addresses are counted by the rate limit', async () => {
  const asked: unknown[] = []
  const { runtime, url, server } = await start()
  expect(runtime).toBeDefined()
  const { serve } = await import('../../src/server/index.ts')
  const limited = await serve(runtime, {
    port: 0,
    authenticate,
    rateLimit: ({ scope, route }) => {
      asked.push([scope, route])
      return { allowed: false, retryAfterMs: 1_000 }
    },
  })
  expect((await fetch(url.replace(server.url, limited.url))).status).toBe(429)
  expect(asked).toEqual([[null, 'readFile']])
  await limited.close({ drainMs: 0 })
})
