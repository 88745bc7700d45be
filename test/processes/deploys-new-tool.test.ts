import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, inject, test, vi } from 'vitest'
import { createRuntime, defineAgent, defineTool, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { freshDatabase } from '../setup/fresh-database.ts'

const conversations = 12
const children: ChildProcess[] = []
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const close of opened.splice(0).reverse()) await close()
})

/** Two builds of one agent: only the new one has the tool. Each is a process of its own. */
function build(has: 'tool' | 'no tool', openStore: string): string {
  return `
    import { createRuntime, defineAgent, defineTool, silentLogger } from '${source('src/index.ts')}'
    import { sqliteStore } from '${source('src/store/sqlite/index.ts')}'
    import { postgresStore } from '${source('src/store/postgres/index.ts')}'
    import { scriptedModel } from '${source('src/testing/index.ts')}'
    const pay = defineTool({ name: 'pay', description: 'Pay', input: { type: 'object' }, approval: 'required', run: () => 'paid' })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] })
    const agent = defineAgent({ name: 'till', model, tools: ${has === 'tool' ? '[pay]' : '[]'} })
    let told = 0
    const logger = { ...silentLogger, warn: (text) => { if (text.startsWith('a call is left')) process.stdout.write('left ' + ++told + '\\n') } }
    createRuntime({ agents: [agent], store: ${openStore}, logger, pollMs: 50 })
    process.stdout.write('ready\\n')
    setInterval(() => {}, 1_000)
  `
}

/** Resolves when it is ready; `output` is all that it has said. */
async function start(program: string): Promise<{ child: ChildProcess; output(): string }> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  children.push(child)
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the process ended')))
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      if (output.includes('ready')) resolve()
    })
  })
  child.removeAllListeners('exit')
  return { child, output: () => output }
}

test.each(['sqlite', 'postgres'] as const)(
  'of approvals in the middle of a deploy none is eaten by processes that lack the tool (%s)',
  async (name) => {
    const { store, openStore } = await place(name)
    opened.push(() => store.close())
    const pay = defineTool({
      name: 'pay',
      description: 'Pay',
      input: { type: 'object' },
      approval: 'required',
      run: () => 'paid',
    })
    const agent = defineAgent({ name: 'till', model: scriptedModel('unused'), tools: [pay] })
    const front = createRuntime({ agents: [agent], store, logger: silentLogger, work: false })
    opened.push(() => front.close())

    const first = await start(build('tool', openStore))
    const ids = Array.from({ length: conversations }, (_, n) => `c${n}`)
    const turns = await Promise.all(ids.map((id) => front.conversation(id, { agent: 'till' }).send('pay')))
    const waiting = await Promise.all(turns.map((turn) => turn.outcome()))
    const olds = await Promise.all([1, 2].map(() => start(build('no tool', openStore))))
    const approve = async (n: number) => {
      const outcome = waiting[n]!
      if (outcome.status !== 'waiting') throw new Error(`it should wait: ${JSON.stringify(outcome)}`)
      expect(await front.conversation(ids[n]!).approve(outcome.pending[0]!)).toEqual({ accepted: true })
    }
    const early = [...ids.keys()].slice(0, conversations / 2)
    const late = [...ids.keys()].slice(conversations / 2)
    for (const n of early) await approve(n)
    await Promise.all(early.map((n) => turns[n]!.outcome()))
    // For a while no process has the tool, so the old ones certainly meet the calls.
    first.child.kill('SIGKILL')
    for (const n of late) await approve(n)
    await vi.waitFor(() => expect(olds.map(({ output }) => output()).join('')).toContain('left'), 20_000)
    const second = await start(build('tool', openStore))
    const outcomes = await Promise.all(turns.map((turn) => turn.outcome()))
    expect(outcomes.map(({ status }) => status)).toEqual(ids.map(() => 'completed'))
    for (const id of ids) {
      const events = await front.conversation(id).events()
      const results = events.filter((event) => event.type === 'tool_result').map(({ content }) => content)
      expect(results).toMatchObject([{ ok: true, result: 'paid' }])
    }
    for (const { output } of [first, second]) expect(output()).not.toContain('left')
  },
  60_000,
)

async function place(name: 'sqlite' | 'postgres'): Promise<{ store: Store; openStore: string }> {
  if (name === 'postgres') {
    const connectionString = await freshDatabase(inject('postgresUrl'))
    const store = postgresStore({ connectionString, logger: silentLogger })
    return { store, openStore: `postgresStore({ connectionString: ${JSON.stringify(connectionString)}, logger })` }
  }
  const folder = mkdtempSync(join(tmpdir(), 'perdure-deploys-'))
  opened.push(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'deploys.db')
  return {
    store: sqliteStore({ path, logger: silentLogger }),
    openStore: `sqliteStore({ path: ${JSON.stringify(path)}, logger })`,
  }
}

function source(path: string): string {
  return new URL(`../../${path}`, import.meta.url).href
}
