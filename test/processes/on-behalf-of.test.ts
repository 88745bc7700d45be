import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, inject, test } from 'vitest'
import { createRuntime, createScope, defineAgent, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { freshDatabase } from '../setup/fresh-database.ts'

const children: ChildProcess[] = []
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const close of opened.splice(0).reverse()) await close()
})

const restoring = `restoreScope: (tenant, user) => createScope({ tenant, user, assigns: { roles: ['clerk'] } }),`

/** A process whose tool tells for whom it acts. `dies`: it is killed by the first run, after the approval and before its result. `alone`: it also sends and approves. */
function build(openStore: string, does: 'works' | 'dies' | 'alone'): string {
  return `
    import { createRuntime, createScope, defineAgent, defineTool, silentLogger } from '${source('src/index.ts')}'
    import { sqliteStore } from '${source('src/store/sqlite/index.ts')}'
    import { postgresStore } from '${source('src/store/postgres/index.ts')}'
    import { scriptedModel } from '${source('src/testing/index.ts')}'
    const logger = silentLogger
    const pay = defineTool({
      name: 'pay', description: 'Pay', input: { type: 'object' }, approval: 'required', ifInterrupted: 'rerun',
      run: (_, turn) => {
        if (${does === 'dies'}) process.kill(process.pid, 'SIGKILL')
        return { scope: turn.scope, approvedBy: turn.approval.who }
      },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] })
    const agent = defineAgent({ name: 'till', model, tools: [pay] })
    const runtime = createRuntime({ agents: [agent], store: ${openStore}, logger, pollMs: 50, leaseMs: 1_000, ${restoring} })
    if (${does === 'alone'}) {
      const as = (user, roles) => runtime.as(createScope({ user, tenant: 'acme', assigns: { roles } })).conversation('alone', { agent: 'till' })
      const turn = await as('ann', ['fresh from the login']).send('pay')
      const { pending } = await turn.outcome()
      await as('boss', ['manager']).approve(pending[0])
      await turn.outcome()
    }
    process.stdout.write('ready\\n')
    setInterval(() => {}, 1_000)
  `
}

/** Resolves when it is ready. */
async function start(program: string): Promise<ChildProcess> {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the process ended')))
    child.stdout.once('data', () => resolve())
  })
  child.removeAllListeners('exit')
  return child
}

test.each(['sqlite', 'postgres'] as const)(
  'a tool sees the same scope in one process, behind an API node, and after a kill between approval and result (%s)',
  async (name) => {
    const { store, openStore } = await place(name)
    opened.push(() => store.close())
    const agent = defineAgent({ name: 'till', model: scriptedModel('unused') })
    const restoreScope = (tenant: string, user: string) => createScope({ tenant, user })
    const front = createRuntime({ agents: [agent], store, logger: silentLogger, work: false, restoreScope })
    opened.push(() => front.close())
    const as = (user: string, id: string, role: string) =>
      front.as(createScope({ user, tenant: 'acme', assigns: { roles: [role] } })).conversation(id, { agent: 'till' })

    const alone = await start(build(openStore, 'alone'))
    alone.kill('SIGKILL')
    const worker = await start(build(openStore, 'works'))
    for (const id of ['behind', 'killed']) {
      const turn = await as('ann', id, 'fresh from the login').send('pay')
      const outcome = await turn.outcome()
      if (outcome.status !== 'waiting') throw new Error(`it should wait: ${JSON.stringify(outcome)}`)
      if (id === 'killed') {
        const exited = new Promise((resolve) => worker.once('exit', resolve))
        worker.kill('SIGKILL')
        await exited
        const dying = await start(build(openStore, 'dies'))
        const died = new Promise((resolve) => dying.once('exit', (_, signal) => resolve(signal)))
        await as('boss', id, 'manager').approve(outcome.pending[0]!)
        expect(await died).toBe('SIGKILL')
        await start(build(openStore, 'works'))
      } else await as('boss', id, 'manager').approve(outcome.pending[0]!)
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    }

    const scope = { user: 'ann', tenant: 'acme', assigns: { roles: ['clerk'] }, system: false }
    const seen = await Promise.all(['alone', 'behind', 'killed'].map((id) => resultIn(store, id)))
    for (const result of seen) expect(result).toEqual({ scope, approvedBy: 'boss' })
    const starts = (await store.forTenant('acme').streamEvents('killed')).filter(({ type }) => type === 'tool_started')
    expect(starts).toHaveLength(2)
  },
  60_000,
)

async function resultIn(store: Store, id: string): Promise<unknown> {
  const events = await store.forTenant('acme').streamEvents(id)
  const [ended] = events.flatMap((event) => (event.type === 'tool_result' ? [event.content] : []))
  return ended?.ok ? ended.result : ended
}

async function place(name: 'sqlite' | 'postgres'): Promise<{ store: Store; openStore: string }> {
  if (name === 'postgres') {
    const connectionString = await freshDatabase(inject('postgresUrl'))
    const store = postgresStore({ connectionString, logger: silentLogger })
    return { store, openStore: `postgresStore({ connectionString: ${JSON.stringify(connectionString)}, logger })` }
  }
  const folder = mkdtempSync(join(tmpdir(), 'perdure-behalf-'))
  opened.push(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'behalf.db')
  return {
    store: sqliteStore({ path, logger: silentLogger }),
    openStore: `sqliteStore({ path: ${JSON.stringify(path)}, logger })`,
  }
}

function source(path: string): string {
  return new URL(`../../${path}`, import.meta.url).href
}
