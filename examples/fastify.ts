/** Agents in a Fastify app, in a plugin that leaves the bodies of requests to the handler. */
import Fastify from 'fastify'
import { createRuntime, createScope, defineAgent, memoryStore } from 'perdure'
import { createClient } from 'perdure/client'
import { createHandler, toNodeListener } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'

const model = scriptedModel(() => ({ text: ['Hello ', 'from ', 'Fastify.'], delayMs: 20 }))
const helper = defineAgent({ name: 'helper', model })
const runtime = createRuntime({ agents: [helper], store: memoryStore() })

const handler = createHandler(runtime, {
  basePath: '/api/agents',
  authenticate: (request) =>
    request.headers.get('authorization') === 'Bearer secret' ? createScope({ user: 'ann' }) : null,
})
const agents = toNodeListener(handler)

const app = Fastify({ forceCloseConnections: true })
app.get('/', () => 'a page of your own')
app.register((plugin, _options, done) => {
  plugin.removeAllContentTypeParsers()
  plugin.addContentTypeParser('*', (_request, _payload, done) => done(null))
  plugin.all('/api/agents/*', (request, reply) => {
    reply.hijack()
    agents(request.raw, reply.raw)
  })
  done()
})
// Streams would keep the server from closing.
app.addHook('preClose', async () => handler.close())
app.addHook('onClose', () => runtime.close())

const url = await app.listen({ port: 0, host: '127.0.0.1' })

console.log(`beside it: ${await (await fetch(url)).text()}`)
console.log(`a stranger: ${(await fetch(`${url}/api/agents/conversations`)).status}`)

const client = createClient({ url: `${url}/api/agents`, token: 'secret' })
const conversation = client.conversation('c1', { agent: 'helper' })
const { turnId } = await conversation.send('Hi')
const outcome = await conversation.outcome(turnId)
console.log(`answer: ${outcome.status === 'completed' ? outcome.text : outcome.status}`)

await app.close()
