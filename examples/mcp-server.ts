/**
 * Agents for MCP clients: an approval inside the agent becomes a question to the client, which calls again with the
 * answer. What it gives back is signed, and each answer counts once.
 */
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createRuntime, createScope, defineAgent, defineTool, memoryStore } from 'perdure'
import { mcpHandler } from 'perdure/mcp'
import { bearerToken, isSameSecret } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

const paid: number[] = []
const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ cents: z.number().int() }),
  approval: 'required',
  describe: ({ cents }) => `Refund ${(cents / 100).toFixed(2)} EUR.`,
  run: ({ cents }) => paid.push(cents),
})
const model = scriptedModel([{ calls: [{ tool: 'refund', args: { cents: 5_000 } }] }, 'Refunded.'])
const support = defineAgent({ name: 'support', model, tools: [refund] })
const secret = 'at least thirty-two bytes, the same everywhere'
const runtime = createRuntime({ agents: [support], store: memoryStore(), secret })

// Mount it in any server, beside createHandler of perdure/server.
const handler = mcpHandler(runtime, {
  authenticate: (request) => (isSameSecret(bearerToken(request) ?? '', 'of-ann') ? createScope({ user: 'ann' }) : null),
})

const client = new Client(
  { name: 'desktop', version: '1.0.0' },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
)
// A desktop client shows a form here.
client.setRequestHandler('elicitation/create', async ({ params }) => {
  console.log(params.message)
  return { action: 'accept', content: { approve: true } }
})
await client.connect(
  new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    requestInit: { headers: { authorization: 'Bearer of-ann' } },
    fetch: (url, init) => handler(new Request(url, init)),
  }),
)
const result = await client.callTool({ name: 'support', arguments: { message: 'Refund my lamp.' } })
assert.deepEqual(result.content, [{ type: 'text', text: 'Refunded.' }])
assert.deepEqual(paid, [5_000])
console.log('Refunded, once.')

await client.close()
await handler.close()
await runtime.close()
