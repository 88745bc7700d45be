/**
 * A durable agent in one SQLite file: it looks up an order, asks a person before it pays anything back, and continues.
 * Set ANTHROPIC_API_KEY and install @ai-sdk/anthropic to use a real model instead of the scripted one.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineAgent, defineTool, type LanguageModel } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Find an order by its id',
  input: z.object({ orderId: z.string() }),
  run: async ({ orderId }) => ({ orderId, item: 'a lamp', cents: 4900 }),
})

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  approval: 'required',
  // The call id is the same in every attempt, so the payment provider can tell a repeated request from a second one.
  run: async ({ orderId, cents }, turn) => pay(orderId, cents, { idempotencyKey: turn.callId }),
})

const payments: { orderId: string; cents: number }[] = []
async function pay(orderId: string, cents: number, _options: { idempotencyKey: string | null }) {
  payments.push({ orderId, cents })
  return { paid: cents }
}

const support = defineAgent({
  name: 'support',
  model: await chooseModel(),
  instructions: 'You help customers of a lamp shop. Look orders up before you refund them. Be brief.',
  tools: [lookUpOrder, refund],
})

const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
const store = sqliteStore({ path: join(folder, 'agents.db') })
const runtime = createRuntime({ agents: [support], store })

const chat = runtime.conversation('ticket-42', { agent: 'support' })
const turn = await chat.send('My lamp (order o-17) came broken. I want my money back.', { key: 'message-1' })
let outcome = await turn.outcome()

// Nothing runs while it waits: this may be three weeks and two deployments later.
while (outcome.status === 'waiting') {
  const call = outcome.pending[0]!
  console.log(`waiting:   ${call.tool} ${JSON.stringify(call.args)}`)
  await chat.approve(call)
  outcome = await turn.outcome()
}
assert(outcome.status === 'completed', `the turn ended as ${outcome.status}`)
console.log(`answer:    ${outcome.text}`)
console.log(`payments:  ${payments.length}`)

// The same key is the same turn: a client that is not sure whether its request arrived simply sends it again.
const again = await chat.send('My lamp (order o-17) came broken. I want my money back.', { key: 'message-1' })
assert.equal(again.turnId, turn.turnId)
assert.equal(payments.length, 1)

console.log('the log:  ', (await chat.events()).map((event) => event.type).join(', '))

await runtime.close()
await store.close()
rmSync(folder, { recursive: true })

async function chooseModel(): Promise<LanguageModel> {
  if (process.env['ANTHROPIC_API_KEY']) return (await import('@ai-sdk/anthropic')).anthropic('claude-sonnet-4-5')
  return scriptedModel([
    { calls: [{ tool: 'look_up_order', args: { orderId: 'o-17' } }] },
    { text: 'One moment.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 4900 } }] },
    'You have your 49 EUR back.',
  ])
}
