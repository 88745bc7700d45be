/**
 * Tools of an MCP server: the server asks a person in the middle of a call. The question waits in the inbox, and the
 * answer reaches the server from another process, which knows of it only what the log has.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { createRuntime, defineAgent } from 'perdure'
import { mcpTools } from 'perdure/mcp'
import { sqliteStore } from 'perdure/sqlite'
import { scriptedModel } from 'perdure/testing'
import { z } from 'zod'

// A shop of someone else. It remembers nothing between two requests.
const shop = createMcpHandler(() => {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const about = { description: 'Order shoes', inputSchema: z.object({ model: z.string() }) }
  server.registerTool('order', about, ({ model }, ctx) => {
    const answered = acceptedContent<{ size: number }>(ctx.mcpReq.inputResponses, 'size')
    if (answered)
      return { content: [{ type: 'text', text: `${model} in ${answered.size}: ${ctx.mcpReq.requestState()}` }] }
    const requestedSchema = z.object({ size: z.number().int().min(30) })
    const size = inputRequired.elicit({ message: 'Which size?', requestedSchema })
    return inputRequired({ inputRequests: { size }, requestState: 'cart-17' })
  })
  return server
})

const path = join(tmpdir(), `perdure-mcp-${process.pid}.db`)

/** What each process of the application does when it starts. */
function start() {
  const server = {
    url: 'https://shop.example/mcp',
    fetch: (url: string | URL, init?: RequestInit) => shop.fetch(new Request(url, init)),
  }
  // The server does not say that ordering is harmless, so each order would need approval.
  const tools = mcpTools(server, { name: 'shop', tools: { order: { approval: 'auto' } } })
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Ordered.' : { calls: [{ tool: 'shop__order', args: { model: 'Runner' } }] },
  )
  const agent = defineAgent({ name: 'desk', model, toolSources: [tools] })
  const store = sqliteStore({ path })
  return { store, model, runtime: createRuntime({ agents: [agent], store }) }
}

const first = start()
const turn = await first.runtime.conversation('c1', { agent: 'desk' }).send('Running shoes, please.')
assert.equal((await turn.outcome()).status, 'waiting')
await first.runtime.close()
await first.store.close()

const second = start()
const [item] = await second.runtime.inbox()
assert.ok(item)
console.log(item.prompt)
const chat = second.runtime.conversation(item.conversationId, { agent: 'desk' })
await chat.answer(item, { size: 42 })
assert.equal((await chat.turn(turn.turnId).outcome()).status, 'completed')
const result = (await chat.events()).find((event) => event.type === 'tool_result')
assert.deepEqual(result?.content, { callId: item.callId, ok: true, result: 'Runner in 42: cart-17' })
console.log('Ordered in another process.')
await second.runtime.close()
await second.store.close()
rmSync(path, { force: true })
