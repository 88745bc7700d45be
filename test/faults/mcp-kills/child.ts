import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { defineAgent } from '../../../src/define/define-agent.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import { createScope } from '../../../src/define/scope.ts'
import { mcpTools } from '../../../src/mcp/client/mcp-tools.ts'
import { mcpHandler } from '../../../src/mcp/server/mcp-handler.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { toNodeListener } from '../../../src/server/node/to-node-listener.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

/** One of two processes: `desk` serves an agent over MCP, `front` has an agent with that one as a tool. Both poll fast, and are killed. */
const [role = '', path = '', effects = '', portFile = ''] = process.argv.slice(2)
const quick = { leaseMs: 300, pollMs: 20 }
const store = sqliteStore({ path })

if (role === 'desk') await serveDesk()
else startFront()

async function serveDesk(): Promise<void> {
  const refund = defineTool({
    name: 'refund',
    description: 'Pay an order back',
    input: z.object({ request: z.string() }),
    approval: 'required',
    run: ({ request }) => {
      appendFileSync(effects, `${request}\n`)
      return 'paid'
    },
  })
  const model = scriptedModel(({ prompt }) => {
    if (prompt.at(-1)?.role === 'tool') return 'Paid.'
    const [request] = /c\d+/.exec(JSON.stringify(prompt.at(-1)?.content)) ?? ['none']
    return { calls: [{ tool: 'refund', args: { request } }] }
  })
  const agent = defineAgent({ name: 'desk', model, tools: [refund] })
  const runtime = createRuntime({
    agents: [agent],
    store,
    secret: 'the same secret in all of these processes',
    ...quick,
  })
  const handler = mcpHandler(runtime, { authenticate: () => createScope({ user: 'front' }) })
  const http = createServer(toNodeListener(handler))
  http.listen(0, '127.0.0.1', () => {
    writeFileSync(portFile, String((http.address() as AddressInfo).port))
    process.send!({ ready: true })
  })
}

function startFront(): void {
  // Each desk has a port of its own: one that was let go may be taken.
  const address = (): string => `http://127.0.0.1:${readFileSync(portFile, 'utf8')}/mcp`
  const tools = mcpTools(
    { url: 'http://desk.test/mcp', fetch: (_, init) => fetch(address(), init) },
    // Calls that go on with an answer may be repeated: our server takes each answer once.
    { name: 'remote', defaults: { approval: 'auto', ifInterrupted: 'rerun' }, retry: { baseMs: 10, maxMs: 50 } },
  )
  const model = scriptedModel(({ prompt }) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.'
    const [request] = /c\d+/.exec(JSON.stringify(prompt.at(-1)?.content)) ?? ['none']
    return { calls: [{ tool: 'remote__desk', args: { message: `refund ${request}` } }] }
  })
  const agent = defineAgent({ name: 'front', model, toolSources: [tools] })
  const runtime = createRuntime({ agents: [agent], store, ...quick })
  process.on('message', async ({ send, answer }: { send?: string; answer?: string }) => {
    const chat = runtime.conversation((send ?? answer)!, { agent: 'front' })
    if (send !== undefined) {
      const turn = await chat.send(`Refund ${send}.`, { key: 'first' })
      process.send!({ outcome: await turn.outcome() })
    } else {
      const [item] = (await chat.view()).pending
      if (item) await chat.answer(item, { approve: true }, { key: 'answer' })
      process.send!({ answered: true })
    }
  })
  process.send!({ ready: true })
}
