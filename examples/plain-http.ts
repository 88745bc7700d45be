/** A server of Node's own `http`, with the agents under one path and pages of its own beside them. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime, createScope, defineAgent, memoryStore } from 'perdure'
import { createClient } from 'perdure/client'
import { createHandler, toNodeListener } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'

const model = scriptedModel(() => ({ text: ['Hello ', 'from ', 'http.'], delayMs: 20 }))
const helper = defineAgent({ name: 'helper', model })
const runtime = createRuntime({ agents: [helper], store: memoryStore() })

const handler = createHandler(runtime, {
  basePath: '/agents',
  authenticate: (request) =>
    request.headers.get('authorization') === 'Bearer secret' ? createScope({ user: 'ann' }) : null,
})
const agents = toNodeListener(handler)

const server = createServer((request, response) => {
  if (request.url?.startsWith('/agents/')) agents(request, response)
  else response.end('a page of your own')
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

console.log(`beside it: ${await (await fetch(url)).text()}`)
console.log(`a stranger: ${(await fetch(`${url}/agents/conversations`)).status}`)

const client = createClient({ url: `${url}/agents`, token: 'secret' })
const conversation = client.conversation('c1', { agent: 'helper' })
const { turnId } = await conversation.send('Hi')
const outcome = await conversation.outcome(turnId)
console.log(`answer: ${outcome.status === 'completed' ? outcome.text : outcome.status}`)

// The order of a shutdown: no more requests, no more streams, no more work.
server.close()
handler.close()
await once(server, 'close')
await runtime.close()
