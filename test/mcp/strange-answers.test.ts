import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import type { McpAddress, McpToolsOptions } from '../../src/mcp/client/server-address.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

vi.setConfig({ testTimeout: 30_000 })

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

type Params = { readonly [key: string]: unknown }
type Answers = { readonly [method: string]: (params: Params) => object | string }

const act = { name: 'act', inputSchema: { type: 'object' } }
const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

/** A server that speaks the newest protocol and answers calls of `act` as it likes. A text is the result as JSON. */
function strange(answers: Answers, server: Partial<McpAddress> = {}, options: Partial<McpToolsOptions> = {}) {
  const known: Answers = {
    'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
    'tools/list': () => ({ tools: [act] }),
    ...answers,
  }
  const fetch: McpAddress['fetch'] = async (_, init) => {
    const { id, method, params } = JSON.parse(String(init?.body))
    const answer = known[method]?.(params) ?? { error: { code: -32_601, message: 'unknown' } }
    const isError = typeof answer === 'object' && 'error' in answer
    const result = typeof answer === 'string' ? answer : JSON.stringify({ ...complete, ...answer })
    const body = isError ? JSON.stringify(answer).slice(1, -1) : `"result":${result}`
    const headers = { 'content-type': 'application/json' }
    return new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${body}}`, { headers })
  }
  const tools = mcpTools(
    { url: 'https://strange.test/mcp', fetch, ...server },
    { name: 'odd', defaults: { approval: 'auto' }, ...options },
  )
  ends.push(() => tools.close())
  return tools
}

/** What the call of `act` ends with. */
async function resultOf(tools: ReturnType<typeof strange>) {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'odd__act', args: {} }] },
  )
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'desk', model, toolSources: [tools] })],
    store: memoryStore(),
  })
  ends.push(() => runtime.close({ drainMs: 0 }))
  const chat = runtime.conversation('c', { agent: 'desk' })
  expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed' })
  const [result] = (await chat.events()).filter(({ type }) => type === 'tool_result')
  return result!.content as { readonly ok: boolean; readonly error?: string; readonly outcome?: string }
}

const asking = (params: object) => ({ method: 'elicitation/create', params })
const form = { mode: 'form', message: 'Which?', requestedSchema: { type: 'object', properties: {} } }
const asks = (inputRequests: object, requestState = 's') => ({
  'tools/call': () => ({ resultType: 'input_required', inputRequests, requestState }),
})

test.each([
  ['a script as address', { q: asking({ ...form, mode: 'url', url: 'javascript:x' }) }, 's', 'not on the web'],
  ['a state too large', { q: asking(form) }, 'x'.repeat(70_000), 'the limit is 65536'],
  [
    'too many questions',
    Object.fromEntries(Array.from({ length: 11 }, (_, n) => [n, asking(form)])),
    's',
    'the limit is 10',
  ],
  ['a model', { q: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } }, 's', 'sampling'],
  [
    'a form without end',
    { q: asking({ ...form, requestedSchema: { type: 'object', properties: {}, $ref: '#' } }) },
    's',
    'applies itself',
  ],
  ['its secret back', { q: asking(form) }, 'say "secret"1234', 'holds a secret'],
])('a server that asks for %s gets no person to see it, and the call says why', async (_, requests, state, problem) => {
  const { ok, error } = await resultOf(strange(asks(requests, state), { headers: { key: 'say "secret"1234' } }))
  expect(ok).toBe(false)
  expect(error).toMatch(/^The MCP server 'odd' asks for what cannot be asked: .*Check the server\.$/)
  expect(error).toContain(problem)
  // It is not the model's argument that is wrong.
  expect(error).not.toContain('Correct the argument')
})

test('a result that does not match its schema was made by a call that ran', async () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const list = { 'tools/list': () => ({ tools: [{ ...act, outputSchema }] }) }
  for (const structuredContent of [{ n: 'seven' }, undefined]) {
    const { error } = await resultOf(
      strange({ ...list, 'tools/call': () => ({ content: [], ...(structuredContent && { structuredContent }) }) }),
    )
    expect(error).toMatch(/ran the call, but its result does not match its schema: .* The call may have taken effect\./)
  }
  const fits = strange({ ...list, 'tools/call': () => ({ content: [], structuredContent: { n: 7 } }) })
  expect(await resultOf(fits)).toMatchObject({ ok: true, result: { n: 7 } })
})

test('only an error that says that the call was not made is a refusal', async () => {
  const failing = (code: number) => strange({ 'tools/call': () => ({ error: { code, message: 'no' } }) })
  expect((await resultOf(failing(-32_602))).error).toBe("The MCP server 'odd' refused: no. Check the server.")
  expect((await resultOf(failing(-32_603))).error).toBe(
    "The MCP server 'odd' failed: no. The call may have taken effect. Check the server.",
  )
})

test('a result that is nested too deeply was made by a call that ran', async () => {
  const deep = `${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}`
  const answer = `{"resultType":"complete","content":[],"structuredContent":${deep}}`
  for (const headers of [{}, { key: 'a-long-secret' }]) {
    const result = await resultOf(strange({ 'tools/call': () => answer }, { headers }))
    expect(result).toMatchObject({ ok: false, outcome: 'ran', error: expect.stringContaining('nested deeper than') })
  }
})

test('a file that cannot be kept is the error of a call that ran', async () => {
  const content = [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }]
  const onFile = () => Promise.reject(new Error('the disk is full'))
  const { error } = await resultOf(strange({ 'tools/call': () => ({ content }) }, {}, { onFile }))
  expect(error).toBe(
    "The MCP server 'odd' ran the call, but a file of its result could not be kept: the disk is full. The call may have taken effect. Check the server.",
  )
})

test('a result that is too large was made by a call that ran', async () => {
  const structuredContent = { text: 'x'.repeat(300_000) }
  const { error } = await resultOf(strange({ 'tools/call': () => ({ content: [], structuredContent }) }))
  expect(error).toMatch(/ ran the call, but its result has 300011 bytes, .* The call may have taken effect\./)
})

test('pages of a list are asked for with the cursors of the server and no others', async () => {
  const cursors: unknown[] = []
  const pages = strange({
    'tools/list': (params) => {
      cursors.push(params['cursor'])
      return cursors.length === 1
        ? { tools: [act], nextCursor: 'p2' }
        : { tools: [{ ...act, name: 'other' }], nextCursor: '' }
    },
  })
  expect((await pages.list()).map(({ name }) => name)).toEqual(['odd__act', 'odd__other'])
  expect(cursors).toEqual([undefined, 'p2'])
})

test.each([
  ['hangs', () => new Promise<never>(() => {}), /timed out/],
  ['throws', () => Promise.reject(new Error('the vault is sealed')), /the vault is sealed/],
  ['returns no texts', () => ({ key: 7 }), /'headers' must return an object of texts/],
  ['returns nothing', () => undefined, /'headers' must return an object of texts/],
])('headers from a function that %s cost the tools of the server, and say why', async (_, headers, problem) => {
  const tools = strange({}, { headers: headers as never }, { connectTimeoutMs: 200 })
  expect(await tools.list()).toEqual([])
  expect(tools.status().problem).toMatch(problem)
})

test('a server without tools has none, and nothing is written to the console about it', async () => {
  const written = vi.spyOn(console, 'debug').mockImplementation(() => {})
  try {
    const empty = strange({
      'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { logging: {} } }),
    })
    expect(await empty.list()).toEqual([])
    expect(empty.status()).toMatchObject({ isConnected: true, problem: null })
    expect(written).not.toHaveBeenCalled()
  } finally {
    written.mockRestore()
  }
})

test('a tool whose results could not be checked is left out', async () => {
  const outputSchema = { type: 'object', $ref: 'http://127.0.0.1:9/x' }
  const tools = strange({
    'tools/list': () => ({
      tools: [
        { ...act, outputSchema },
        { ...act, name: 'other' },
      ],
    }),
  })
  expect((await tools.list()).map(({ name }) => name)).toEqual(['odd__other'])
  expect(tools.status().leftOut).toEqual([expect.stringContaining("'act' is left out: its schema cannot be used")])
})

test.skipIf(process.platform === 'win32')(
  'a command that starts the server as another process is let go with its pipes',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-mcp-'))
    ends.push(async () => rmSync(folder, { recursive: true, force: true }))
    const pidFile = join(folder, 'pid')
    const program = join(import.meta.dirname, 'programs', 'hostile-stdio.ts')
    const script = `"$0" --disable-warning=ExperimentalWarning "$1"; true`
    for (const attack of ['tools/list flood_invalid 1', 'tools/list flood_pings 1']) {
      const env = { ATTACK: attack, PID_FILE: pidFile }
      const tools = mcpTools({ command: 'sh', args: ['-c', script, process.execPath, program], env }, { name: 'evil' })
      ends.push(() => tools.close())
      expect(await tools.list()).toEqual([])
      expect(tools.status().problem).toMatch(/sends more messages than it may|does not read what it asks for/)
      // It writes until its pipe is closed, which a wrapper that is killed does not do.
      const pid = Number(readFileSync(pidFile, 'utf8'))
      await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
    }
  },
)

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
