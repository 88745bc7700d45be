/**
 * A person approves in another system. The approval is sent to the webhook of a chat channel, also when the process that
 * asked is gone; a click there calls back, to a process that runs no agents, and comes twice. The refund is paid once.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createRuntime, createScope, defineAgent, defineTool, webhook } from 'perdure'
import { isSameSecret } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

let refunds = 0
const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  approval: 'required',
  describe: ({ orderId, cents }) => `Refund ${(cents / 100).toFixed(2)} EUR for order ${orderId}`,
  run: async ({ cents }) => ({ paid: cents, number: ++refunds }),
})
const model = scriptedModel([
  { calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 4900 } }] },
  'You have your 49 EUR back.',
])
const support = defineAgent({ name: 'support', model, tools: [refund] })
const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
const store = sqliteStore({ path: join(folder, 'agents.db') })
const secret = 'shared with the chat, at least 32 bytes long'
const asked = { conversationId: z.string(), callId: z.string(), round: z.number() }
const Question = z.object({ ...asked, description: z.string() })

// 1. The chat: it shows what is posted to its channel, if the signature is right.
const shown = Promise.withResolvers<z.infer<typeof Question>>()
const chat = createServer(async (request, response) => {
  const body = await text(request)
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers
  assert.equal(signature, `v1,${createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')}`)
  shown.resolve(Question.parse(JSON.parse(body)))
  response.end('ok')
})

// 2. A node that asks, and tells the channel. With the round, a late click cannot answer the next question.
const channel = webhook({
  url: await listening(chat),
  secret,
  allowPrivateAddresses: true, // the chat of this example is on this machine
  body: ({ conversationId, call }) => ({ ...call, conversationId }),
})
const first = createRuntime({ agents: [support], store, subscribers: [channel] })
await first.conversation('ticket-42', { agent: 'support' }).send('I want my money back')
const { description, ...question } = await shown.promise
console.log(`the channel shows: ${description}?`)
await first.close()

// 3. A node that takes the click. `work: false`: it accepts messages and answers, and leaves the work to others.
const sign = (body: string) => createHmac('sha256', secret).update(body).digest('hex')
const Decision = z.object({ ...asked, approved: z.boolean(), by: z.string() })
const api = createRuntime({ agents: [support], store, work: false })
const clicks = createServer(async (request, response) => {
  const body = await text(request)
  if (!isSameSecret(String(request.headers['x-signature']), sign(body))) return response.writeHead(401).end()
  const { by, approved, conversationId, ...call } = Decision.parse(JSON.parse(body))
  const answered = await api.as(createScope({ user: by })).resolve(conversationId, call, approved)
  response.end(answered.accepted ? 'thank you' : `${answered.resolution.who} has answered before`)
})
const address = await listening(clicks)

async function click(decision: object, signature = sign(JSON.stringify(decision))): Promise<string> {
  const init = { method: 'POST', body: JSON.stringify(decision), headers: { 'x-signature': signature } }
  const response = await fetch(address, init)
  return `${response.status} ${await response.text()}`.trim()
}
console.log('forged:   ', await click({ ...question, approved: true, by: 'mallory' }, 'guessed'))
console.log('clicked:  ', await click({ ...question, approved: true, by: 'ann' }))
console.log('again:    ', await click({ ...question, approved: true, by: 'ann' }))
await api.close()

// 4. Any node that works next continues the conversation.
const second = createRuntime({ agents: [support], store })
const outcome = await second.conversation('ticket-42', { agent: 'support' }).outcome()
assert(outcome.status === 'completed')
console.log(`answer:    ${outcome.text} (refunds: ${refunds})`)

for (const server of [chat, clicks]) server.close()
await second.close()
await store.close()
rmSync(folder, { recursive: true })

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
