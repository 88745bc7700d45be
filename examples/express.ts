/** Agents in an Express app: mounted at a path, behind its session, with an answer that streams. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createRuntime, createScope, defineAgent, memoryStore } from 'perdure'
import { createClient } from 'perdure/client'
import { createHandler, toNodeListener } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'

const model = scriptedModel(() => ({ text: ['Hello ', 'from ', 'Express.'], delayMs: 20 }))
const helper = defineAgent({ name: 'helper', model })
const runtime = createRuntime({ agents: [helper], store: memoryStore() })

const sessions = new Map([['session-of-ann', 'ann']])
const handler = createHandler(runtime, {
  // The whole path, as the browser sees it.
  basePath: '/api/agents',
  authenticate(request) {
    const user = sessions.get(request.headers.get('authorization')?.replace('Bearer ', '') ?? '')
    return user ? createScope({ user }) : null
  },
})

const app = express()
app.get('/', (_, response) => void response.send('a page of your own'))
// Works before and after `express.json()`; before it, bodies are read only once.
app.use('/api/agents', toNodeListener(handler))
app.use(express.json())

const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

console.log(`beside it: ${await (await fetch(url)).text()}`)
console.log(`a stranger: ${(await fetch(`${url}/api/agents/conversations`)).status}`)

const client = createClient({ url: `${url}/api/agents`, token: 'session-of-ann' })
const conversation = client.conversation('c1', { agent: 'helper' })
await conversation.outcome((await conversation.send('Hi')).turnId)
const pieces: string[] = []
for await (const { event } of conversation.watch()) {
  // The first event is a snapshot: from here on nothing is missed.
  if (event.type === 'snapshot') await conversation.send('And again?')
  if (event.type === 'text_delta') pieces.push(event.delta)
  if (event.type === 'turn_completed') break
}
console.log(`streamed: ${pieces.join('|')}`)

server.close()
handler.close()
await once(server, 'close')
await runtime.close()
