/**
 * A person approves in another system (a chat, a ticket, an e-mail), which calls a webhook. By then the process that
 * asked is gone, the process that receives the webhook runs no agents, and the webhook is delivered twice, as webhooks
 * are. The refund is paid once.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createRuntime, createScope, defineAgent, defineTool } from 'perdure'
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
  expiresInMs: 3 * 24 * 60 * 60 * 1000,
  run: async ({ cents }) => {
    refunds += 1
    return { paid: cents }
  },
})
const model = scriptedModel([
  { calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 4900 } }] },
  'You have your 49 EUR back.',
])
const support = defineAgent({ name: 'support', model, tools: [refund] })
const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
const store = sqliteStore({ path: join(folder, 'agents.db') })

// 1. A node asks, sends the question to the other system, and exits.
const first = createRuntime({ agents: [support], store })
const turn = await first.conversation('ticket-42', { agent: 'support' }).send('I want my money back')
const asked = await turn.outcome()
assert(asked.status === 'waiting')
const { conversationId, callId, round } = asked.pending[0]!
// The round belongs to the question, so that a late click cannot answer the next one.
const question = { conversationId, callId, round }
await first.close()
console.log('asked, and the process is gone')

// 2. Another node receives the webhook. `work: false`: it accepts messages and answers, and leaves the work to others.
const secret = 'shared with the other system'
const sign = (body: string) => createHmac('sha256', secret).update(body).digest('hex')
const Decision = z.object({
  conversationId: z.string(),
  callId: z.string(),
  round: z.number(),
  approved: z.boolean(),
  by: z.string(),
})
const api = createRuntime({ agents: [support], store, work: false })
const webhook = createServer(async (request, response) => {
  const body = await text(request)
  if (!isSameSecret(String(request.headers['x-signature']), sign(body))) return response.writeHead(401).end()
  const { by, approved, conversationId, ...call } = Decision.parse(JSON.parse(body))
  // The decision is recorded with the person who made it.
  const answered = await api.as(createScope({ user: by })).resolve(conversationId, call, approved)
  response.end(answered.accepted ? 'thank you' : `${answered.resolution.who} has answered before`)
})
await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
const { port } = webhook.address() as AddressInfo

async function deliver(decision: object, signature = sign(JSON.stringify(decision))): Promise<string> {
  const body = JSON.stringify(decision)
  const headers = { 'x-signature': signature }
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })
  return `${response.status} ${await response.text()}`.trim()
}
console.log('forged:   ', await deliver({ ...question, approved: true, by: 'mallory' }, 'guessed'))
console.log('delivered:', await deliver({ ...question, approved: true, by: 'ann' }))
console.log('again:    ', await deliver({ ...question, approved: true, by: 'ann' }))
assert.equal(refunds, 0)
webhook.close()
await api.close()

// 3. Any node that works next continues the conversation.
const second = createRuntime({ agents: [support], store })
const outcome = await second.conversation('ticket-42', { agent: 'support' }).outcome()
assert(outcome.status === 'completed')
console.log(`answer:    ${outcome.text} (refunds: ${refunds})`)

await second.close()
await store.close()
rmSync(folder, { recursive: true })
