import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import type { SubscriberEvent } from './define-subscriber.ts'
import { type WebhookAttributes, webhook } from './webhook.ts'

const secret = 'a secret that the receiver knows, too, of 32 bytes'
const event = { id: 'evt_1', topic: 'waiting', conversationId: 'chat', seq: 3 } as unknown as SubscriberEvent
const context = { signal: new AbortController().signal, attempt: 1 }

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections()
})

async function receiver(status = 200) {
  const got: { headers: IncomingHttpHeaders; body: string }[] = []
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: await text(request) })
    response.writeHead(status, { location: '/elsewhere' }).end('so it is')
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

test('an event is sent with its id, a time and a signature over both and the body', async () => {
  const { got, url } = await receiver()
  const before = Math.floor(Date.now() / 1000)
  await webhook({ url, secret, allowPrivateAddresses: true }).run(event, context)
  const [{ headers, body }] = got as [(typeof got)[0]]
  expect(JSON.parse(body)).toEqual(event)
  expect(headers['webhook-id']).toBe('evt_1')
  const timestamp = Number(headers['webhook-timestamp'])
  expect(timestamp).toBeGreaterThanOrEqual(before)
  const expected = createHmac('sha256', secret).update(`evt_1.${timestamp}.${body}`).digest('base64')
  expect(headers['webhook-signature']).toBe(`v1,${expected}`)
})

test('a secret with the prefix of Standard Webhooks is read as base64', async () => {
  const { got, url } = await receiver()
  const key = Buffer.alloc(32, 7)
  const prefixed = `whsec_${key.toString('base64')}`
  await webhook({ url, secret: prefixed, allowPrivateAddresses: true }).run(event, context)
  const [{ headers, body }] = got as [(typeof got)[0]]
  const signed = `evt_1.${String(headers['webhook-timestamp'])}.${body}`
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
})

test.each([
  ['a function', () => () => 1],
  ['a symbol', () => Symbol('sent')],
])('a body that is %s is refused, and the error says what to return', async (_, body) => {
  const { got, url } = await receiver()
  const sending = webhook({ url, secret, allowPrivateAddresses: true, body }).run(event, context)
  await expect(sending).rejects.toThrow('which is not JSON; return an object, or undefined to send nothing')
  expect(got).toEqual([])
})

test('`body` decides what is sent, and whether', async () => {
  const { got, url } = await receiver()
  const options = { url, secret, allowPrivateAddresses: true }
  await webhook({ ...options, body: ({ conversationId }) => ({ text: conversationId }) }).run(event, context)
  await webhook({ ...options, body: () => undefined }).run(event, context)
  expect(got.map(({ body }) => body)).toEqual(['{"text":"chat"}'])
})

test.each([302, 404, 500])('an answer of %d is a failure that quotes it', async (status) => {
  const { got, url } = await receiver(status)
  await expect(webhook({ url, secret, allowPrivateAddresses: true }).run(event, context)).rejects.toThrow(
    `the receiver answered ${status}: so it is`,
  )
  expect(got).toHaveLength(1)
})

test('a body over the limit is not sent', async () => {
  const { got, url } = await receiver()
  const large = webhook({ url, secret, allowPrivateAddresses: true, body: () => 'x'.repeat(300_000) })
  await expect(large.run(event, context)).rejects.toThrow('the limit is 262144')
  expect(got).toEqual([])
})

test('an address of this machine is refused unless it is allowed', async () => {
  await expect(webhook({ url: 'https://localhost:1/', secret }).run(event, context)).rejects.toThrow('private network')
})

const good: WebhookAttributes = { url: 'https://example.com/hook', secret }

test('defaults: told of what waits, as a subscriber of the name webhook', () => {
  expect(webhook(good)).toMatchObject({ name: 'webhook', on: ['waiting'], agent: null, timeoutMs: 10_000 })
})

test.each([
  [{ url: 'ftp://example.com' }, 'https://'],
  [{ url: 'http://example.com' }, 'allowPrivateAddresses'],
  [{ url: 'https://user:password@example.com' }, 'must not contain a password'],
  [{ url: 7 }, 'https://'],
  [{ secret: 'short' }, 'at least 32 bytes'],
  [{ secret: undefined }, 'at least 32 bytes'],
  [{ on: ['no such thing'] }, 'which is no topic'],
  [{ on: [] }, 'list of topics'],
  [{ body: 'text' }, "'body' must be a function"],
  [{ retry: { maxAttempts: 0 } }, 'maxAttempts'],
  [{ timeoutMs: 0 }, 'timeoutMs'],
  [{ colour: 'red' }, 'colour'],
])('%j is refused', (wrong, message) => {
  expect(() => webhook({ ...good, ...(wrong as object) })).toThrow(message)
})

test('a secret with the prefix whose key is short, or not base64, is refused', () => {
  for (const key of [Buffer.alloc(23).toString('base64'), '!'.repeat(64), 'not base64 at all, but long enough for it'])
    expect(() => webhook({ ...good, secret: `whsec_${key}` })).toThrow('at least 24 bytes in base64')
  expect(webhook({ ...good, secret: `whsec_${Buffer.alloc(24).toString('base64')}` }).name).toBe('webhook')
})
