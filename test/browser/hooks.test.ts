import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { perdureEntries } from '../setup/perdure-entries.ts'
import { browserTest } from '../support/browser/browser-test.ts'

const root = join(import.meta.dirname, '..', '..')
const pageFiles = { hooks: 'test/browser/hooks-page.tsx', example: 'examples/react/page.tsx' }
const scripts = new Map<string, string>()
let origin = ''
const pages = createServer((request, response) => {
  const script = scripts.get(request.url ?? '')
  response.writeHead(200, { 'content-type': script ? 'text/javascript' : 'text/html' })
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  response.end(
    script ?? `<!doctype html><title>Page</title><body><div id="root"></div><script src="${pathname}.js"></script>`,
  )
})

let folder = ''
let server: ChildProcess
let url = ''

beforeAll(async () => {
  await Promise.all(
    ['19', '18'].flatMap((react) => Object.entries(pageFiles).map(([name, file]) => bundle(react, name, file))),
  )
  await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve))
  // Another host than the server's, so that requests are cross-site.
  origin = `http://localhost:${(pages.address() as AddressInfo).port}`
  folder = mkdtempSync(join(tmpdir(), 'perdure-hooks-'))
  await start()
})
afterAll(async () => {
  pages.close()
  await kill()
  rmSync(folder, { recursive: true })
})

async function bundle(react: string, name: string, file: string): Promise<void> {
  const used = ['perdure/client', 'perdure/react']
  const entries = used.map((name) => [name, perdureEntries().find(({ find }) => find.test(name))!.replacement] as const)
  const older = { react: join(root, 'node_modules/react-18'), 'react-dom': join(root, 'node_modules/react-dom-18') }
  const made = await rolldown({
    input: join(root, file),
    platform: 'browser',
    logLevel: 'silent',
    resolve: { alias: { ...Object.fromEntries(entries), ...(react === '18' ? older : {}) } },
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
  })
  const { output } = await made.generate({ format: 'iife' })
  scripts.set(`/${react}/${name}.js`, output[0].code)
}

async function start(): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', '--import', join(root, 'test/support/perdure-from-source.ts')]
  const port = url === '' ? '0' : new URL(url).port
  server = spawn(process.execPath, [...args, join(import.meta.dirname, 'hooks-server.ts')], {
    env: { ...process.env, PORT: port, ORIGIN: origin, STORE: join(folder, 'chats.db') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(server.stdout!, 'data')
  url = String(line).trim()
}

async function kill(): Promise<void> {
  const exited = once(server, 'exit')
  server.kill('SIGKILL')
  await exited
}

type Counts = { list: number; messages: Record<string, number>; drafts: number; header: number }
const countsOf = (page: Page): Promise<Counts> => page.evaluate(() => (window as unknown as { counts: Counts }).counts)
const shows = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor()
const text = (page: Page, place: string) => () => page.locator(place).first().textContent()
const whole = `${Array.from({ length: 80 }, (_, n) => `w${n} `).join('')}END`
const answersOf = (page: Page): Promise<string[]> => page.locator('article[data-role=assistant]').allTextContents()

const runsOf = (page: Page): Promise<string | null> => page.evaluate(() => localStorage.getItem('runs'))

async function say(page: Page, words: string): Promise<void> {
  await page.locator('input[name=text]').fill(words)
  await page.locator('input[name=text]').press('Enter')
}

/** The streams that a page has opened and not closed. */
function streamsOf(page: Page): ReadonlyMap<unknown, string> {
  const open = new Map<unknown, string>()
  page.on('request', (request) => {
    if (request.method() === 'GET' && /\/live(\?|$)/.test(request.url())) open.set(request, request.url())
  })
  page.on('requestfailed', (request) => open.delete(request))
  page.on('requestfinished', (request) => open.delete(request))
  return open
}

describe.each(['19', '18'])('the hooks on a page of React %s', { timeout: 120_000 }, (react) => {
  const id = (name: string): string => `${name}-${react}`
  const open = (page: Page, name: string, rest = ''): Promise<unknown> =>
    page.goto(`${origin}/${react}/hooks?${new URLSearchParams({ url, id: id(name) })}${rest}`)
  const client = () => createClient({ url })

  browserTest('text that arrives renders one message, and a killed server is found again', async ({ page }) => {
    const streams = streamsOf(page)
    const old = client().conversation(id('stream'), { agent: 'support' })
    await old.outcome((await old.send('hello')).turnId)
    await open(page, 'stream')
    await shows(page, 'Hello.')
    const before = await countsOf(page)
    await say(page, 'count')
    await shows(page, 'w5 ')
    const writing = await countsOf(page)
    await shows(page, 'w40 ')
    const later = await countsOf(page)
    expect(later.drafts).toBeGreaterThan(writing.drafts)
    expect({ ...later, drafts: 0 }).toEqual({ ...writing, drafts: 0 })
    // Both components and the inbox share it, and StrictMode opens no other.
    expect([...streams.values()].map((address) => new URL(address).pathname)).toEqual(['/live'])
    await kill()
    await expect.poll(text(page, '#status')).toBe('reconnecting')
    await expect.poll(text(page, '#connection')).toBe('offline')
    await start()
    await shows(page, 'w79 END')
    await expect.poll(() => answersOf(page)).toEqual(['Hello.', whole])
    await expect.poll(text(page, '#status')).toBe('live')
    await expect.poll(text(page, '#connection')).toBe('live')
    const { messages } = await countsOf(page)
    for (const seq of Object.keys(before.messages)) expect(messages[seq]).toBe(before.messages[seq])
  })

  browserTest('a page that is reloaded or hidden in the middle of an answer shows it to its end', async ({ page }) => {
    const streams = streamsOf(page)
    await open(page, 'hidden', '&more')
    await expect.poll(text(page, '#status')).toBe('gone')
    await say(page, 'count')
    await shows(page, 'w5 ')
    await page.reload()
    await shows(page, 'w10 ')
    await show(page, 'hidden')
    await expect.poll(() => streams.size).toBe(0)
    const hidden = await countsOf(page)
    const ended = client().conversation(id('hidden'))
    await expect.poll(async () => (await ended.view()).phase).toBe('idle')
    expect(await countsOf(page)).toEqual(hidden)
    await show(page, 'visible')
    await shows(page, 'w79 END')
    expect(await answersOf(page)).toEqual([whole])
    await expect.poll(text(page, '#calls')).toBe('1')
    await page.getByText('Start').click()
    await expect.poll(text(page, '#session')).toBe('live waiting 1 2')
    await page.getByText('flow').getByText('Approve').click()
    await expect.poll(text(page, '#session')).toMatch(/^live done 1 2 3/)
    // A page that is left for another holds nothing.
    await page.goto('about:blank')
    await expect.poll(() => streams.size).toBe(0)
  })

  browserTest('lists and totals follow what happens elsewhere, over the stream of the page', async ({ page }) => {
    const streams = streamsOf(page)
    const first = client().conversation(id('listed'), { agent: 'support' })
    await first.outcome((await first.send('hello')).turnId)
    await open(page, 'listed', '&lists')
    await expect.poll(text(page, '#conversations')).toBe(`${id('listed')} idle`)
    await expect.poll(text(page, '#totals')).toMatch(/^live \d+$/)
    const done = Number((await text(page, '#totals')())!.split(' ')[1])
    const second = client().conversation(`${id('listed')}-b`, { agent: 'support' })
    await second.outcome((await second.send('refund')).turnId)
    // A page of one: the newest takes its place.
    await expect.poll(text(page, '#conversations')).toBe(`${id('listed')}-b waiting`)
    const session = client().flow('order', `${id('listed')}-s`)
    await session.start({})
    await expect.poll(text(page, '#sessions')).toBe(`order ${id('listed')}-s waiting`)
    await session.resume({ ok: true })
    await expect.poll(text(page, '#sessions')).toBe(`order ${id('listed')}-s done`)
    await expect.poll(text(page, '#totals')).toBe(`live ${done + 1}`)
    expect([...streams.values()].map((address) => new URL(address).pathname)).toEqual(['/live'])
    await page.getByText('More').click()
    await expect.poll(text(page, '#conversations')).toBe(`${id('listed')}-b waiting, ${id('listed')} idle`)
    // The inboxes of other tests must not have it.
    await second.deny((await second.view()).pending[0]!)
  })

  browserTest('of two pages that answer the same approval one wins, and both show the same end', async ({ page }) => {
    await open(page, 'approve')
    await say(page, 'refund')
    const other = await page.context().newPage()
    await open(other, 'approve')
    const mine = (of: Page) => of.locator('.item', { hasText: 'Pay o-17 back' })
    await mine(page).waitFor()
    await mine(other).waitFor()
    // Neither page has heard of the other's answer when its button is pressed.
    const isPressed = Promise.withResolvers<void>()
    let asked = 0
    for (const each of [page, other])
      await each.route('**/approve', async (route) => {
        if (route.request().method() === 'POST' && ++asked === 2) isPressed.resolve()
        if (route.request().method() === 'POST') await isPressed.promise
        await route.continue()
      })
    for (const each of [page, other]) await mine(each).getByText('Approve').click()
    await Promise.all([page, other].map((each) => shows(each, 'You have your money back.')))
    await expect
      .poll(async () => [await text(page, '#result')(), await text(other, '#result')()].sort())
      .toEqual(['accepted', 'lost to local: resolved'])
    await other.close()
    const events = await client().conversation(id('approve')).events()
    expect(events.filter(({ type }) => type === 'resolution')).toHaveLength(1)
    // Answered by a program: the page says who.
    await say(page, 'refund')
    await mine(page).waitFor()
    const [item] = (await client().conversation(id('approve')).view()).pending
    await client().conversation(id('approve')).deny(item!)
    await shows(page, 'refund denied by local')
    await expect.poll(() => mine(page).count()).toBe(0)
  })

  browserTest('a client tool runs in one of two tabs and answers; what it throws is its error', async ({ page }) => {
    await open(page, 'tool', '&slow')
    const other = await page.context().newPage()
    await open(other, 'tool', '&slow')
    await expect.poll(text(other, '#status')).toBe('gone')
    await say(page, 'where')
    await shows(page, '48.2')
    await other.reload()
    await shows(other, '48.2')
    expect(await runsOf(page)).toBe('1')
    await say(page, 'street')
    await Promise.all([page, other].map((each) => shows(each, 'no street is known here')))
    expect(await runsOf(page)).toBe('2')
    await other.close()
    // A result that the page has is sent after a reload, and not computed again.
    const answers = /\/calls\/.*\/answer$/
    await page.route(answers, (route) => (route.request().method() === 'POST' ? route.abort() : route.continue()))
    const lost = page.waitForEvent('requestfailed', (request) => answers.test(request.url()))
    await say(page, 'where')
    await lost
    await page.unroute(answers)
    await page.reload()
    await expect.poll(() => page.locator('article', { hasText: '48.2' }).count()).toBe(2)
    expect(await runsOf(page)).toBe('3')
  })

  browserTest('the page of the guide runs as it is written', async ({ page }) => {
    await page.goto(`${origin}/${react}/example?${new URLSearchParams({ url, id: id('example') })}`)
    await page.locator('input[name=text]').waitFor()
    await say(page, 'where')
    await shows(page, '48.2')
    await say(page, 'refund')
    await page.locator('input[type=button]').click()
    await shows(page, 'You have your money back.')
  })
})

/** What a browser does when its tab is hidden or shown; without a window there are no tabs. */
async function show(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate((visibilityState) => {
    Object.defineProperty(document, 'visibilityState', { value: visibilityState, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, state)
}
