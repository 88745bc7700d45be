import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { type McpTools, mcpTools } from '../../src/mcp/client/mcp-tools.ts'
import type { McpToolsOptions } from '../../src/mcp/client/server-address.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { onlyPendingOf } from '../stories/pending-of.ts'
import { toolResults } from '../stories/tool-results.ts'
import { type Effects, serveOfficial } from './official-server.ts'

vi.setConfig({ testTimeout: 90_000 })

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const effectsOf = new WeakMap<McpTools, Effects>()

// A process starts slowly on a busy machine.
const patient = { connectTimeoutMs: 60_000 }

const stdioServer = {
  command: process.execPath,
  args: [
    '--disable-warning=ExperimentalWarning',
    '--experimental-strip-types',
    join(import.meta.dirname, 'programs', 'official-stdio.ts'),
  ],
}

async function overHttp(options: Partial<McpToolsOptions> = {}, extra: () => readonly string[] = () => []) {
  const effects: Effects = []
  const served = await serveOfficial(effects, extra)
  ends.push(() => served.close())
  const tools = mcpTools(
    { url: served.url, allowPrivateAddresses: true, headers: { authorization: 'Bearer secret-token-1234' } },
    { name: 'shop', ...options },
  )
  ends.push(() => tools.close())
  effectsOf.set(tools, effects)
  return { effects, served, tools }
}

/** A conversation in which the model calls a tool, then says 'Done.'. */
function chatWith(tools: McpTools, calls: { tool: string; args?: unknown }[] = []) {
  const model = scriptedModel(({ prompt }) => {
    const asked = calls.map(({ tool, args = {} }) => ({ tool, args }))
    return prompt.at(-1)?.role === 'tool' || asked.length === 0 ? 'Done.' : { calls: asked }
  })
  const agent = defineAgent({ name: 'desk', model, toolSources: [tools] })
  const runtime = createRuntime({ agents: [agent], store: memoryStore() })
  ends.push(() => runtime.close({ drainMs: 0 }))
  return { model, runtime, chat: runtime.conversation('c1', { agent: 'desk' }) }
}

const offered = (model: ReturnType<typeof chatWith>['model'], n: number) =>
  (model.calls[n]?.options.tools ?? []).map(({ name }) => name)

describe.each(['http', 'stdio'] as const)('the tools of an official server over %s', (kind) => {
  async function open(options: Partial<McpToolsOptions> = {}) {
    if (kind === 'http') return (await overHttp(options)).tools
    const tools = mcpTools(stdioServer, { name: 'shop', ...patient, ...options })
    ends.push(() => tools.close())
    return tools
  }

  test('are offered to the model, run, and answer with text, structure and parts', async () => {
    const tools = await open()
    const calls = [{ tool: 'shop__find', args: { text: 'boots' } }, { tool: 'shop__price' }, { tool: 'shop__picture' }]
    const { model, chat } = chatWith(tools, calls)
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(offered(model, 0)).toEqual(
      ['find', 'price', 'picture', 'buy', 'fail', 'slow', 'order'].map((name) => `shop__${name}`),
    )
    expect(toolResults(model, 2)).toEqual([
      ['shop__find', { type: 'text', value: 'found boots' }],
      ['shop__price', { type: 'json', value: { cents: 4200 } }],
      [
        'shop__picture',
        {
          type: 'json',
          value: [
            { type: 'text', text: 'Here:' },
            { type: 'image', mediaType: 'image/png', bytes: 4, leftOut: expect.any(String) },
            { type: 'link', uri: 'https://example.com/shoe', name: 'shoe' },
          ],
        },
      ],
    ])
  })

  test('ask a person: the question waits in the inbox, and the server gets the answer with its state', async () => {
    const { model, chat } = chatWith(await open(), [{ tool: 'shop__order' }])
    const turn = await chat.send('boots')
    const item = await onlyPendingOf(turn)
    expect(item).toMatchObject({ kind: 'elicitation', tool: 'shop__order', prompt: 'shop asks: Which size?' })
    await expect(chat.answer(item, { size: 7 })).rejects.toMatchObject({ code: 'invalid_answer' })
    await chat.answer(item, { size: 42 })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toEqual([['shop__order', { type: 'text', value: 'ordered 42' }]])
  })

  test('pass cancellation and progress through', async () => {
    const tools = await open()
    const { chat } = chatWith(tools, [{ tool: 'shop__slow' }])
    const progress: unknown[] = []
    const seen = (async () => {
      for await (const event of chat.watch())
        if (event.type === 'tool_progress') {
          progress.push(event.payload)
          return
        }
    })()
    const turn = await chat.send('boots')
    await seen
    expect(progress).toEqual([{ progress: 1, total: 2, message: 'half' }])
    await chat.cancel()
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
    expect(tools.status().isConnected).toBe(true)
    if (kind === 'http') await expect.poll(() => effectsOf.get(tools)).toContain('slow was cancelled')
  })
})

describe('what a server says of its tools decides, unless the options do', () => {
  test('destructive tools need approval, read-only and idempotent ones may be run again', async () => {
    const { tools, effects } = await overHttp()
    const { chat } = chatWith(tools, [{ tool: 'shop__buy' }])
    const turn = await chat.send('boots')
    const item = await onlyPendingOf(turn)
    expect(item).toMatchObject({ kind: 'approval', tool: 'shop__buy' })
    expect(effects).toEqual([])
    await chat.approve(item)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(effects).toEqual(['buy'])
    const listed = new Map((await tools.list()).map((tool) => [tool.name, tool as { ifInterrupted?: string }]))
    expect(listed.get('shop__find')?.ifInterrupted).toBe('rerun')
    expect(listed.get('shop__price')?.ifInterrupted).toBe('rerun')
    expect(listed.get('shop__buy')?.ifInterrupted).toBe('report')
  })

  test('options override by name, and leave tools out', async () => {
    const { tools, effects } = await overHttp({
      tools: { buy: { approval: 'auto', ifInterrupted: 'ask' }, find: { approval: 'required' }, slow: false },
    })
    const { model, chat } = chatWith(tools, [{ tool: 'shop__buy' }])
    expect(await (await chat.send('boots')).outcome()).toMatchObject({ status: 'completed' })
    expect(effects).toEqual(['buy'])
    expect(offered(model, 0)).not.toContain('shop__slow')
    expect(
      await onlyPendingOf(await chatWith(tools, [{ tool: 'shop__find', args: { text: 'x' } }]).chat.send('a')),
    ).toMatchObject({ kind: 'approval' })
  })

  test('what the server calls an error is the error of the call', async () => {
    const { tools } = await overHttp()
    const { model, chat } = chatWith(tools, [{ tool: 'shop__fail' }, { tool: 'shop__find', args: { text: 7 } }])
    expect(await (await chat.send('boots')).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toMatchObject([
      ['shop__fail', { type: 'error-text', value: 'the shop is closed' }],
      ['shop__find', { type: 'error-text', value: expect.stringContaining('invalid arguments') }],
    ])
  })

  test('a question may be declined', async () => {
    const { tools } = await overHttp()
    const { model, chat } = chatWith(tools, [{ tool: 'shop__order' }])
    const turn = await chat.send('boots')
    await chat.answer(await onlyPendingOf(turn), { declined: true })
    await turn.outcome()
    expect(toolResults(model, 2)).toEqual([['shop__order', { type: 'text', value: 'not ordered' }]])
  })

  test('files of results are kept by onFile', async () => {
    const files: string[] = []
    const { tools } = await overHttp({
      onFile: ({ bytes, mediaType }) => {
        files.push(`${mediaType} ${Buffer.from(bytes)}`)
        return 'https://files.example/1'
      },
    })
    const { model, chat } = chatWith(tools, [{ tool: 'shop__picture' }])
    await (await chat.send('boots')).outcome()
    expect(files).toEqual(['image/png png!'])
    expect(JSON.stringify(toolResults(model, 2))).toContain('https://files.example/1')
  })
})

describe('a list of tools that changes', () => {
  test('is picked up between turns; a recorded call of a tool that is gone ends with an error', async () => {
    let extra: readonly string[] = ['old']
    const { tools } = await overHttp({ listedForMs: 0 }, () => extra)
    const { model, chat } = chatWith(tools, [{ tool: 'shop__old' }])
    await (await chat.send('first')).outcome()
    expect(toolResults(model, 2)).toMatchObject([['shop__old', { value: 'old' }]])
    extra = ['new']
    await (await chat.send('second')).outcome()
    expect(offered(model, 2)).toContain('shop__new')
    expect(offered(model, 2)).not.toContain('shop__old')
    expect(toolResults(model, 4)[1]).toMatchObject([
      'shop__old',
      { value: expect.stringContaining("no tool 'shop__old'") },
    ])
  })

  test('a call that waited for approval while its tool went away ends with an error, and the conversation goes on', async () => {
    let extra: readonly string[] = ['old']
    const { tools } = await overHttp({ listedForMs: 0, tools: { old: { approval: 'required' } } }, () => extra)
    const { model, chat, runtime } = chatWith(tools, [{ tool: 'shop__old' }])
    const turn = await chat.send('first')
    const item = await onlyPendingOf(turn)
    extra = []
    await (await runtime.conversation('c2', { agent: 'desk' }).send('lists again')).outcome()
    await chat.approve(item)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, model.calls.length)).toMatchObject([['shop__old', { type: 'error-text' }]])
  })
})

describe('a server that is not there', () => {
  test('when it starts: the turn goes on without its tools, and the next has them', async () => {
    const effects: Effects = []
    const served = await serveOfficial(effects)
    await served.close()
    let answers: Awaited<ReturnType<typeof serveOfficial>> | null = null
    const tools = mcpTools(
      {
        url: 'http://shop.test/mcp',
        fetch: async (url, init) => {
          if (!answers) throw new TypeError('fetch failed: connection refused')
          return fetch(new URL(new URL(url).pathname, answers.url), init)
        },
      },
      { name: 'shop', retry: { baseMs: 1, maxMs: 1 } },
    )
    const { model, chat } = chatWith(tools)
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed' })
    expect(offered(model, 0)).toEqual([])
    expect(tools.status()).toMatchObject({ isConnected: false, problem: expect.stringContaining('refused') })
    answers = await serveOfficial(effects)
    ends.push(() => answers!.close())
    await expect.poll(async () => (await tools.list()).length).toBe(7)
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed' })
    expect(offered(model, 1)).toContain('shop__find')
  })

  test('when a process dies in a call: the call ends with an error that says so, and it is started again', async () => {
    const server = { command: process.execPath, args: ['-e', dyingServer] }
    const tools = mcpTools(server, {
      name: 'shop',
      ...patient,
      retry: { baseMs: 1, maxMs: 5 },
      tools: { die: { approval: 'auto' } },
    })
    const { model, chat } = chatWith(tools, [{ tool: 'shop__die' }])
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toMatchObject([
      ['shop__die', { type: 'error-text', value: expect.stringContaining('may have taken effect') }],
    ])
    await expect.poll(() => tools.list().then(() => tools.status().isConnected)).toBe(true)
  })

  test('a process of the older protocol that does not answer what it does not know is still spoken to', async () => {
    const args = ['-e', dyingServer.replace('else if (id !== undefined)', 'else if (false)')]
    const tools = mcpTools({ command: process.execPath, args }, { name: 'shop', connectTimeoutMs: 6_000 })
    ends.push(() => tools.close())
    expect((await tools.list()).map(({ name }) => name)).toEqual(['shop__die'])
  })

  test('when it hangs: the call times out, and the conversation goes on', async () => {
    const { tools } = await overHttp({ tools: { slow: { timeoutMs: 50 } } })
    const { model, chat } = chatWith(tools, [{ tool: 'shop__slow' }])
    expect(await (await chat.send('hi')).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2)).toMatchObject([
      ['shop__slow', { value: expect.stringContaining('timed out after 50 ms') }],
    ])
  })

  test('is not asked again within the pause after a failure', async () => {
    let asked = 0
    const tools = mcpTools(
      {
        url: 'https://shop.test/mcp',
        fetch: async () => {
          asked += 1
          throw new TypeError('no connection')
        },
      },
      { name: 'shop', retry: { baseMs: 60_000, maxMs: 60_000 } },
    )
    await tools.list()
    const before = asked
    expect(before).toBeGreaterThan(0)
    await tools.list()
    expect(asked).toBe(before)
  })
})

test('the pauses after failures double up to their limit, and begin anew once it was connected', async () => {
  const served = await serveOfficial([])
  ends.push(() => served.close())
  let isDown = true
  const pauses: number[] = []
  const warn = (_: string, about?: object): void => {
    const [, ms] = /next attempt is in (\d+) ms/.exec(String((about as { readonly error?: unknown }).error)) ?? []
    if (ms !== undefined) pauses.push(Number(ms))
  }
  const tools = mcpTools(
    {
      url: 'https://shop.test/mcp',
      fetch: (url, init) => {
        if (isDown) throw new TypeError('no connection')
        return fetch(new URL(new URL(url).pathname, served.url), init)
      },
    },
    { name: 'shop', listedForMs: 0, retry: { baseMs: 40, maxMs: 100 }, logger: { ...silentLogger, warn } },
  )
  ends.push(() => tools.close())
  const failing = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) {
      await tools.list()
      await new Promise((resolve) => setTimeout(resolve, 120))
    }
  }
  await failing(4)
  isDown = false
  expect(await tools.list()).toHaveLength(7)
  isDown = true
  await failing(2)
  // The first failure of a connection that was there is the call's, and counts. A little of a pause may have passed when it is told.
  expect(pauses.map((ms) => [40, 80, 100].find((full) => ms <= full))).toEqual([40, 80, 100, 100, 80])
  expect(pauses[0]).toBeGreaterThan(0)
})

/** A server in a few lines of the older protocol, which ends when a tool is called. */
const dyingServer = `
let rest = ''
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
process.stdin.on('data', (chunk) => {
  rest += chunk
  const lines = rest.split('\\n')
  rest = lines.pop()
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'd', version: '1' } })
    else if (method === 'tools/list') say(id, { tools: [{ name: 'die', inputSchema: { type: 'object' } }] })
    else if (method === 'tools/call') process.exit(1)
    else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } }) + '\\n')
  }
})
process.stdin.on('end', () => process.exit(0))
`

describe('secrets and addresses', () => {
  test('headers reach the server, and neither the log nor an error', async () => {
    const { tools, served } = await overHttp()
    const { chat } = chatWith(tools, [{ tool: 'shop__find', args: { text: 'my secret-token-1234' } }])
    await (await chat.send('hi')).outcome()
    expect(new Set(served.headers)).toEqual(new Set(['Bearer secret-token-1234']))
    const results = (await chat.events()).filter(({ type }) => type === 'tool_result')
    expect(JSON.stringify(results)).toContain('found my [redacted]')
  })

  test.each([
    'http://127.0.0.1:9/',
    'https://localhost/',
    'https://169.254.169.254/',
    'https://[::1]/',
    'https://10.0.0.1/',
  ])('the address %s is refused', async (url) => {
    const isHttp = url.startsWith('http:')
    if (isHttp) return expect(() => mcpTools({ url }, { name: 'shop' })).toThrow('allowPrivateAddresses')
    const tools = mcpTools({ url }, { name: 'shop' })
    expect(await tools.list()).toEqual([])
    expect(tools.status().problem).toContain('private network')
  })

  test('definitions that cannot work are refused with all problems', () => {
    expect(() =>
      mcpTools({ url: 'x', comand: 'y' } as never, { name: 'a b', defaults: { approval: 'no' } } as never),
    ).toThrow(/comand[\s\S]*url[\s\S]*name[\s\S]*approval/)
    expect(() => mcpTools({ command: 'x', url: 'y' } as never, { name: 'a' })).toThrow("either 'command' or 'url'")
  })
})
