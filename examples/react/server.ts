/** The server of the page: a guide that asks the browser where the user is, and a person before it books. README.md in this folder says how to run both. */
import { createRuntime, defineAgent, defineTool } from 'perdure'
import { serve } from 'perdure/server'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const locate = defineTool({
  name: 'locate',
  description: 'Find out where the user is',
  input: z.object({ accuracy: z.enum(['city', 'street']) }),
  executor: 'client',
  output: z.object({ latitude: z.number(), longitude: z.number() }),
})
const book = defineTool({
  name: 'book',
  description: 'Book a seat on a tour',
  input: z.object({ tour: z.string() }),
  approval: 'required',
  describe: ({ tour }) => `Book a seat on the ${tour}`,
  run: async ({ tour }) => ({ booked: tour }),
})

// Replace it with any AI SDK model.
const model = scriptedModel(({ prompt }) => {
  const last = JSON.stringify(prompt.at(-1)).toLowerCase()
  if (last.includes('booked')) return 'You have a seat.'
  if (last.includes('48.2')) return 'You are in Vienna.'
  if (last.includes('where')) return { calls: [{ tool: 'locate', args: { accuracy: 'city' } }] }
  if (last.includes('tour')) return { text: 'Let me ask.', calls: [{ tool: 'book', args: { tour: 'old town tour' } }] }
  return { text: ['Hello. ', 'Ask "Where am I?", ', 'or for a tour.'], delayMs: 50 }
})

export const guide = defineAgent({ name: 'guide', model, instructions: 'Be brief.', tools: [locate, book] })

const { PORT = '4111', ORIGIN = 'http://localhost:5173', STORE = 'chats.db' } = process.env
const store = sqliteStore({ path: STORE })
const runtime = createRuntime({ agents: [guide], store })
// Pages of other origins are refused. Everyone on this machine is the same user here; pass `authenticate` to tell
// people apart.
const server = await serve(runtime, { port: Number(PORT), allowedOrigins: [ORIGIN] })
console.log(`the server listens on ${server.url}`)

process.once('SIGINT', async () => {
  await server.close()
  await runtime.close()
  await store.close()
})
