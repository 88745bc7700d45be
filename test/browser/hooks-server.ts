/** A server of its own process, so that it can be killed: `PORT`, `ORIGIN` and `STORE` say where. */
import { createRuntime, defineAgent, defineFlow, defineTool } from 'perdure'
import { serve } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string() }),
  approval: 'required',
  describe: ({ orderId }) => `Pay ${orderId} back`,
  run: async ({ orderId }) => ({ paid: orderId }),
})

const locate = defineTool({
  name: 'locate',
  description: 'Find out where the user is',
  input: z.object({ accuracy: z.enum(['city', 'street']) }),
  executor: 'client',
  output: z.object({ latitude: z.number() }),
})

const words = Array.from({ length: 80 }, (_, n) => `w${n} `)
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  const said = JSON.stringify(last)
  if (last?.role === 'tool') return said.includes('paid') ? 'You have your money back.' : `The tool said ${said}.`
  if (said.includes('count')) return { text: [...words, 'END'], delayMs: 20 }
  if (said.includes('street')) return { calls: [{ tool: 'locate', args: { accuracy: 'street' } }] }
  if (said.includes('where')) return { calls: [{ tool: 'locate', args: { accuracy: 'city' } }] }
  if (said.includes('refund')) return { text: 'Let me ask.', calls: [{ tool: 'refund', args: { orderId: 'o-17' } }] }
  return 'Hello.'
})

const order = defineFlow({
  name: 'order',
  version: 1,
  input: z.object({}),
  run: async (flow) => flow.suspend({ ask: 'manager' }, { schema: z.object({ ok: z.boolean() }) }),
})

/** Also the agent of the example, for its page. */
export const support = defineAgent({ name: 'support', model, tools: [refund, locate], audit: 'records' })

const { PORT = '0', ORIGIN = '', STORE = '' } = process.env
const runtime = createRuntime({
  agents: [support, defineAgent({ name: 'guide', model, tools: [refund, locate] })],
  flows: [order],
  store: sqliteStore({ path: STORE }),
  secret: 'a-secret-of-more-than-thirty-two-bytes',
  leaseMs: 500,
  pollMs: 50,
})
const server = await serve(runtime, { port: Number(PORT), allowedOrigins: [ORIGIN], showPrompts: true })
console.log(server.url)
