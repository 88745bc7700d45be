import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { perdureEntries } from '../setup/perdure-entries.ts'
import { browserTest } from '../support/browser/browser-test.ts'

const root = join(import.meta.dirname, '..', '..')
let code = ''
let origin = ''
const pages = createServer((request, response) => {
  const isCode = request.url === '/page.js'
  response.writeHead(200, { 'content-type': isCode ? 'text/javascript' : 'text/html' })
  response.end(isCode ? code : '<!doctype html><title>Chat</title><body><script src="/page.js"></script>')
})

beforeAll(async () => {
  code = await bundled()
  await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve))
  // Another host than the server's, so that requests are cross-site.
  origin = `http://localhost:${(pages.address() as AddressInfo).port}`
})
afterAll(() => pages.close())

async function bundled(): Promise<string> {
  const client = perdureEntries().find(({ find }) => find.test('perdure/client'))!
  const bundle = await rolldown({
    input: join(import.meta.dirname, 'chat-page.tsx'),
    platform: 'browser',
    logLevel: 'silent',
    resolve: { alias: { 'perdure/client': client.replacement } },
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
  })
  const { output } = await bundle.generate({ format: 'iife' })
  return output[0].code
}

let folder = ''
let server: ChildProcess
let url = ''
/** Closed before their server: a page that still asks it would fail its test by what it throws. */
const opened = new Set<Page>()

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-browser-'))
  url = ''
  await start()
})
afterEach(async () => {
  await Promise.all([...opened].map((page) => page.context().close()))
  opened.clear()
  await kill()
  rmSync(folder, { recursive: true })
})

async function start(): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', '--import', join(root, 'test/support/perdure-from-source.ts')]
  const port = url === '' ? '0' : new URL(url).port
  server = spawn(process.execPath, [...args, join(import.meta.dirname, 'chat-server.ts')], {
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

async function open(page: Page, id: string): Promise<void> {
  opened.add(page)
  await page.goto(`${origin}/?${new URLSearchParams({ url: `${url}/ui/support`, id })}`)
  await page.getByPlaceholder('Say something').waitFor()
}

async function say(page: Page, text: string): Promise<void> {
  await page.locator('input:not([disabled])').fill(text)
  await page.locator('input').press('Enter')
}

async function tab(browser: Browser): Promise<Page> {
  return (await browser.newContext()).newPage()
}

const shows = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor()
const whole = `${Array.from({ length: 150 }, (_, n) => `w${n} `).join('')}END`
const answersOf = (page: Page): Promise<string[]> => page.locator('article[data-role=assistant] p').allTextContents()
const statusesOf = async (id: string): Promise<string[]> =>
  (await createClient({ url }).conversation(id).events()).flatMap(({ type, content }) =>
    type === 'turn_ended' ? [content.status] : [],
  )

describe('useChat with perdureTransport in a browser', { timeout: 120_000 }, () => {
  browserTest('Stop cancels the turn, and the next message is answered', async ({ page }) => {
    await open(page, 'stop')
    await say(page, 'count on')
    await shows(page, 'w20 ')
    await page.getByText('Stop').click()
    await say(page, 'hello')
    await shows(page, 'Hello.')
    expect(await statusesOf('stop')).toEqual(['cancelled', 'completed'])
  })

  browserTest('a page that is reloaded in the middle of an answer shows it to its end', async ({ page }) => {
    await open(page, 'reload')
    await say(page, 'count')
    await shows(page, 'w20 ')
    await page.reload()
    await shows(page, 'w149 END')
    expect(await answersOf(page)).toEqual([whole])
    expect(await statusesOf('reload')).toEqual(['completed'])
  })

  browserTest(
    'a route change in the middle of an answer cancels nothing, and the page shows it once',
    async ({ page }) => {
      await open(page, 'route')
      await say(page, 'count')
      await shows(page, 'w20 ')
      await page.getByText('Leave').click()
      await shows(page, 'Elsewhere')
      // Longer than a stop waits for a page that is mounted again.
      await page.waitForTimeout(500)
      await page.getByText('Return').click()
      await shows(page, 'w149 END')
      expect(await answersOf(page)).toEqual([whole])
      expect(await page.locator('article[data-role=user]').count()).toBe(1)
      expect(await statusesOf('route')).toEqual(['completed'])
    },
  )

  browserTest(
    'an answer that ended while another route was shown is on the page, and Stop still cancels',
    async ({ page }) => {
      await open(page, 'away')
      await say(page, 'count')
      await shows(page, 'w20 ')
      await page.getByText('Leave').click()
      await expect.poll(() => statusesOf('away')).toEqual(['completed'])
      // Another page goes on with the conversation in the meantime.
      const elsewhere = createClient({ url }).conversation('away')
      await elsewhere.outcome((await elsewhere.send('hello')).turnId)
      await page.getByText('Return').click()
      await shows(page, 'Hello.')
      expect(await answersOf(page)).toEqual([whole, 'Hello.'])
      await say(page, 'count on')
      await expect.poll(() => page.getByText('w20 ').count()).toBe(2)
      await page.getByText('Leave').click()
      await page.getByText('Return').click()
      await page.getByText('Stop').click()
      await expect.poll(() => statusesOf('away')).toEqual(['completed', 'completed', 'cancelled'])
    },
  )

  browserTest(
    'a server that is killed and started while it streams is found again without a reload',
    async ({ page }) => {
      await open(page, 'kill')
      await say(page, 'count')
      await shows(page, 'w20 ')
      await kill()
      await start()
      await shows(page, 'w149 END')
      expect(await answersOf(page)).toEqual([whole])
    },
  )

  browserTest('each approval is sent when it is clicked, and is there after a reload', async ({ page }) => {
    await open(page, 'approve')
    await say(page, 'refund')
    await expect.poll(() => page.getByText('Approve').count()).toBe(2)
    await page.getByText('Approve').first().click()
    const pending = async () => (await createClient({ url }).conversation('approve').view()).pending.length
    await expect.poll(pending).toBe(1)
    await page.reload()
    await expect.poll(() => page.getByText('Approve').count()).toBe(1)
    // A click while the page still takes up the turn would be shown and then forgotten by it.
    await page.locator('input:not([disabled])').waitFor()
    await page.getByText('Approve').click()
    await shows(page, 'You have your money back.')
    expect(await statusesOf('approve')).toEqual(['completed'])
  })

  browserTest('of two tabs, the one that answers second is told who was first', async ({ page, browser }) => {
    await open(page, 'tabs')
    await say(page, 'refund')
    await expect.poll(() => page.getByText('Approve').count()).toBe(2)
    const other = await tab(browser)
    await open(other, 'tabs')
    await expect.poll(() => other.getByText('Approve').count()).toBe(2)
    await page.getByText('Approve').first().click()
    await expect.poll(() => page.getByText('Approve').count()).toBe(1)
    await page.getByText('Approve').click()
    await shows(page, 'You have your money back.')
    await other.getByText('Deny').first().click()
    await shows(other, 'local answered first.')
    await other.context().close()
    const events = await createClient({ url }).conversation('tabs').events()
    expect(events.filter(({ type }) => type === 'resolution')).toHaveLength(2)
  })

  browserTest('a file of a message is shown on a page of another origin', async ({ page }) => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const chat = createClient({ url }).conversation('picture', { agent: 'support' })
    const data = `data:image/png;base64,${png}`
    const { turnId } = await chat.send([{ type: 'file', mediaType: 'image/png', data }])
    await chat.outcome(turnId)
    await open(page, 'picture')
    const width = () => page.locator('img').evaluate((image) => (image as HTMLImageElement).naturalWidth)
    await expect.poll(width).toBe(1)
    expect(await page.locator('img').getAttribute('src')).toContain('?signed=')
  })
})
