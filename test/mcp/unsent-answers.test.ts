import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { mcpHandler } from '../../src/mcp/server/mcp-handler.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const mebibyte = 1024 * 1024

test('MCP clients that take nothing of their answers are cut off when others need the memory', async () => {
  const helper = defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.') })
  const runtime = createRuntime({ agents: [helper], store: memoryStore() })
  await (await runtime.conversation('c', { agent: 'helper' }).send('x'.repeat(200_000))).outcome()
  const handler = mcpHandler(runtime, {
    authenticate: () => createScope({ user: 'ann' }),
    limits: { answerBytes: mebibyte, unsentBytes: 2 * mebibyte, waitMs: 10_000 },
  })
  const answers: Response[] = []
  let takes = true
  const client = new Client({ name: 'idle', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const answer = await handler(new Request(url, init))
    if (takes) return answer
    answers.push(answer)
    return new Promise(() => {})
  }
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch }))
    takes = false
    for (const n of [1, 2, 3]) {
      client.readResource({ uri: 'perdure://conversations/c' }).catch(() => {})
      if (n < 3) await expect.poll(() => answers.length).toBe(n)
    }
    await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(3)
    expect(await answers[2]!.text()).toContain('xxxxx')
    await expect(answers[0]!.text()).rejects.toThrow()
    expect(await answers[1]!.text()).toContain('xxxxx')
  } finally {
    await client.close().catch(() => {})
    await handler.close()
    await runtime.close()
  }
})
