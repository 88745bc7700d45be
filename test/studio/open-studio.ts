import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'perdure/client'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { openedPages } from './opened-pages.ts'
import { type PageOptions, userCookie } from './studio-page.ts'
import { type StudioServer, type StudioWorld, startServer } from './studio-server.ts'

export { studioTest } from './opened-pages.ts'

/*
 * Tests of the studio in a real browser, against a real server over SQLite:
 *
 *   const studio = openStudio({ agents: [support], flows: [] })     // one server for the file
 *
 *   studioTest('a person approves a refund', async () => {
 *     await studio.client().conversation('t-1', { agent: 'support' }).send('refund o-17')   // arrange over HTTP, as ann
 *     const page = await studio.open('/inbox')                       // a page that is signed in as ann
 *     await page.getByRole('button', { name: 'Approve' }).click()
 *     await expect.poll(() => page.getByText('Nothing is waiting.').isVisible()).toBe(true)
 *   })
 *
 * `studio.open('/inbox', { user: 'eve', width: 390, dark: true })` opens it for another person, on a phone, in the dark. After each test its
 * pages are closed, and the test fails for every error in a console, violation of the content security policy, uncaught
 * error and request to another origin; `expected: [/status of 409/]` names those that the test causes on purpose.
 *
 * A test with a server of its own uses `openedPages`, which closes the pages before it ends the server.
 *
 * To kill the server, run it in a process of its own: `openStudio({ module: new URL('./my-world.ts', import.meta.url) })`, where the module exports
 * `world` (the agents and flows). Then `await studio.kill()` is SIGKILL, and `await studio.start()` starts it again on the same port and file.
 *
 * `node test/studio/look.ts /inbox --width 390 --dark` takes a picture of a page over the demo's data.
 *
 * Wait with `expect.poll` or with playwright's own waiting (`page.getByText('…').waitFor()`), never for a time. Each test uses conversations of its own.
 */

export type Studio = {
  readonly url: string
  /** Null where the server has a process of its own. */
  readonly runtime: StudioServer['runtime'] | null
  /** Null where the server has a process of its own. */
  readonly store: StudioServer['store'] | null
  /** A client of the same server, for a person. Default: ann. */
  client(user?: string, tenant?: string): ReturnType<typeof createClient>
  /** Opens an address of the studio, such as `/inbox`. */
  open(path: string, options?: PageOptions): Promise<Page>
  /** SIGKILL. Only where the server has a process of its own. */
  kill(): Promise<void>
  /** Starts it again after `kill`. */
  start(): Promise<void>
}

export function openStudio(world: StudioWorld | { readonly module: URL }): Studio {
  let folder = ''
  let running: Running | null = null
  const pages = openedPages()

  async function start(port?: number): Promise<void> {
    const place = { storeFile: join(folder, 'studio.db'), ...(port !== undefined && { port }) }
    running = 'module' in world ? await startChild(world.module, place) : await startHere(world, place)
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-studio-'))
    await start()
  })
  afterAll(async () => {
    await running?.stop()
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  const url = (): string => running!.url
  return {
    get url() {
      return url()
    },
    get runtime() {
      return running?.runtime ?? null
    },
    get store() {
      return running?.store ?? null
    },
    client(user = 'ann', tenant = '') {
      const cookie = `${userCookie}=${encodeURIComponent(JSON.stringify({ user, tenant }))}`
      return createClient({ url: url(), headers: { cookie } })
    },
    async open(path, options) {
      const { page } = await pages.open(url(), options)
      await page.goto(`${url()}/studio${path}`)
      return page
    },
    async kill() {
      await running!.kill()
    },
    async start() {
      await start(Number(new URL(url()).port))
    },
  }
}

type Running = {
  readonly url: string
  readonly runtime: StudioServer['runtime'] | null
  readonly store: StudioServer['store'] | null
  stop(): Promise<void>
  kill(): Promise<void>
}

type Place = { readonly storeFile: string; readonly port?: number }

async function startHere(world: StudioWorld, place: Place): Promise<Running> {
  const server = await startServer(world, place)
  const kill = async (): Promise<void> => {
    throw new Error('this server runs in the process of the test; pass openStudio({ module })')
  }
  return { url: server.url, runtime: server.runtime, store: server.store, stop: () => server.close(), kill }
}

const fromSource = new URL('../support/perdure-from-source.ts', import.meta.url).href
const child = new URL('server-child.ts', import.meta.url)

async function startChild(module: URL, { storeFile, port = 0 }: Place): Promise<Running> {
  const env = { ...process.env, WORLD: module.href, STORE: storeFile, PORT: String(port) }
  const args = ['--disable-warning=ExperimentalWarning', '--import', fromSource, child.pathname]
  const server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await Promise.race([once(server.stdout, 'data'), endOf(server)])) as [unknown]
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exit = once(server, 'exit')
    server.kill('SIGKILL')
    await exit
  }
  return { url: String(line).trim(), runtime: null, store: null, stop: kill, kill }
}

async function endOf(server: ChildProcess): Promise<never> {
  const [code] = await once(server, 'exit')
  throw new Error(`the server ended with ${code} before it listened`)
}
