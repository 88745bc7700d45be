/** The server of the page: a support agent that asks before it pays. README.md in this folder says how to run both. */
import { createRuntime, defineAgent, defineTool } from 'perdure'
import { serve } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  approval: 'required',
  describe: ({ orderId, cents }) => `Refund ${(cents / 100).toFixed(2)} EUR for order ${orderId}`,
  run: async ({ cents }) => ({ paid: cents }),
})

// Replace it with any AI SDK model.
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  if (last?.role === 'tool')
    return said(last).includes('paid') ? 'You have your money back.' : 'Then I leave it as it is.'
  if (!said(last).includes('refund')) return { text: ['Hello. ', 'Say "refund" ', 'and see.'], delayMs: 50 }
  return { text: 'Let me ask.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 4900 } }] }
})
const said = (message: unknown): string => JSON.stringify(message).toLowerCase()

const support = defineAgent({ name: 'support', model, instructions: 'Be brief.', tools: [refund] })

const { PORT = '4111', ORIGIN = 'http://localhost:5173' } = process.env
const store = sqliteStore({ path: 'chats.db' })
const runtime = createRuntime({ agents: [support], store })
// Pages of other origins are refused. Everyone on this machine is the same user here; pass `authenticate` to tell
// people apart.
const server = await serve(runtime, { port: Number(PORT), allowedOrigins: [ORIGIN] })
console.log(`the server listens on ${server.url}`)

process.once('SIGINT', async () => {
  await server.close()
  await runtime.close()
  await store.close()
})
