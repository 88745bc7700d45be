import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { perdure, repository } from './perdure.ts'

vi.setConfig({ testTimeout: 90_000 })

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

test('a question of perdure mcp is answered by its next process: the state is signed with the secret of the config', async () => {
  const asking = async (client: Client, args: object, more: object = {}) =>
    (await client.callTool({ name: 'support', arguments: args, ...more } as never, { allowInputRequired: true })) as {
      readonly [key: string]: ReturnType<typeof JSON.parse>
    }
  const first = await connect()
  const waiting = await asking(first, { message: 'Send a letter' })
  expect(waiting).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  const [[key, request]] = Object.entries<ReturnType<typeof JSON.parse>>(waiting['inputRequests']) as [[string, never]]
  expect(request).toMatchObject({ params: { message: expect.stringContaining('Send a letter to Ann') } })
  await first.close()
  const second = await connect()
  const inputResponses = { [key]: { action: 'accept', content: { approve: true } } }
  const more = { inputResponses, requestState: waiting['requestState'] }
  const forged = await asking(second, { message: 'Send a letter' }, { ...more, requestState: `x${more.requestState}` })
  expect(forged).toMatchObject({ isError: true })
  for (let times = 0; times < 2; times++) {
    const result = await asking(second, { message: 'Send a letter' }, more)
    expect(result).toMatchObject({ structuredContent: { status: 'completed', text: 'All is done.' } })
  }
  const { stdout } = await perdure(['show', String((await listed(second))[0]), '--json'], { cwd: folder })
  expect(stdout.match(/"sent"/g)).toHaveLength(1)
  await second.close()
})

async function listed(client: Client): Promise<string[]> {
  const { resources } = await client.listResources()
  return resources.map(({ uri }) => decodeURIComponent(uri.split('/').at(-1)!))
}

test('a server keeps its agents to itself: without --agent there is nothing to serve', async () => {
  const { code, stderr } = await perdure(['mcp', '--url', 'http://127.0.0.1:1'], {
    cwd: folder,
    env: { PERDURE_TOKEN: 'x' },
  })
  expect(code).toBe(2)
  expect(stderr).toContain('--agent')
})
