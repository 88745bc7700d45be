/** A server of its own process, so that it can be killed: `PORT`, `ORIGIN` and `STORE` say where. */
import { createRuntime, defineAgent, defineTool } from 'perdure'
import { serve } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string() }),
  approval: 'required',
  run: async ({ orderId }) => ({ paid: orderId }),
})

const words = Array.from({ length: 150 }, (_, n) => `w${n} `)
/** Streams for longer than any test: it is cancelled. */
const endless = Array.from({ length: 20_000 }, (_, n) => `w${n} `)
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  const said = JSON.stringify(last)
  if (last?.role === 'tool') return said.includes('paid') ? 'You have your money back.' : 'Then I leave it as it is.'
  if (said.includes('count on')) return { text: endless, delayMs: 20 }
  if (said.includes('count')) return { text: [...words, 'END'], delayMs: 20 }
  if (!said.includes('refund')) return 'Hello.'
  return { text: 'Let me ask.', calls: ['a', 'b'].map((orderId) => ({ tool: 'refund', args: { orderId } })) }
})

const { PORT = '0', ORIGIN = '', STORE = '' } = process.env
const runtime = createRuntime({
  agents: [defineAgent({ name: 'support', model, tools: [refund] })],
  store: sqliteStore({ path: STORE }),
  secret: 'a-secret-of-more-than-thirty-two-bytes',
  leaseMs: 500,
  pollMs: 50,
})
const server = await serve(runtime, { port: Number(PORT), allowedOrigins: [ORIGIN] })
console.log(server.url)
