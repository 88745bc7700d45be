import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { perdure, repository } from './perdure.ts'

vi.setConfig({ testTimeout: 30_000 })

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-mcp-'))
  writeFileSync(
    join(folder, 'perdure.config.ts'),
    `import { agents, flows } from '${repository}/test/cli/agents.ts'
    export default { agents, flows, store: '.perdure/perdure.db', secret: 'thirty-two bytes of a long secret' }`,
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function connect(): Promise<Client> {
  const args = ['--disable-warning=ExperimentalWarning', join(repository, 'src/cli/main.ts'), 'mcp']
  const client = new Client(
    { name: 'desktop', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
    },
  )
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: folder, stderr: 'ignore' }))
  return client
}

test('a desktop client that starts perdure mcp talks to the agents of the config, and reads the inbox', async () => {
  const client = await connect()
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['support', 'list_waiting', 'answer_waiting']))
  const result = await client.callTool({ name: 'support', arguments: { message: 'Hello' } })
  expect(result).toMatchObject({ structuredContent: { status: 'completed', text: 'Hello.' } })
  const waiting = await client.callTool({ name: 'list_waiting', arguments: {} })
  expect(waiting.structuredContent).toMatchObject({ items: [] })
  await client.close()
})

test('a server keeps its agents to itself: without --agent there is nothing to serve', async () => {
  const { code, stderr } = await perdure(['mcp', '--url', 'http://127.0.0.1:1'], {
    cwd: folder,
    env: { PERDURE_TOKEN: 'x' },
  })
  expect(code).toBe(2)
  expect(stderr).toContain('--agent')
})
