import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, createScope, defineAgent, memoryStore, type Scope } from 'perdure'
import { type ServeOptions, type Server, serve } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { openedPages, studioTest } from './opened-pages.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-sign-in-'))
const localTokenFile = join(folder, 'server.json')
const store = memoryStore()
const runtime = createRuntime({ agents: [defineAgent({ name: 'support', model: scriptedModel('Hello.') })], store })
let server: Server
const pages = openedPages()

const start = (options: ServeOptions = {}): Promise<Server> =>
  serve(runtime, { studio: true, port: 0, localTokenFile, upkeep: { store }, ...options })

beforeAll(async () => {
  server = await start()
})
afterAll(async () => {
  await server.close({ drainMs: 0 })
  await runtime.close({ drainMs: 0 })
  await store.close()
  rmSync(folder, { recursive: true })
})

/** Ends the server and starts another at its address: it knows none of the sessions. */
async function restart(): Promise<void> {
  const { port } = server
  await server.close({ drainMs: 0 })
  server = await start({ port })
}

/** A page without cookies, as a stranger has it. */
async function stranger(url: string, expected: RegExp[] = []): Promise<Page> {
  const { page, context } = await pages.open(url, { expected })
  await context.clearCookies()
  return page
}

const signedIn = (page: Page) => page.getByRole('navigation', { name: 'Pages' })
const heading = (page: Page) => page.getByRole('heading', { name: 'Sign in' })

studioTest(
  'the printed address signs in once: the code leaves the address at once, a reload stays, a second use says why',
  async () => {
    const url = server.studioUrl()!
    expect(url).toMatch(/\/studio#code=[\w-]{24}$/)
    const page = await stranger(server.url)
    const asked: string[] = []
    page.on('request', (request) =>
      asked.push(`${request.url()} ${JSON.stringify(request.headers()['referer'] ?? '')}`),
    )
    await page.goto(url)
    await signedIn(page).waitFor()
    expect(page.url()).toBe(`${server.url}/studio/inbox`)
    const code = url.split('code=')[1]!
    expect(asked.join('\n')).not.toContain(code)
    expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2)
    const kept = await page.evaluate(
      () => JSON.stringify({ ...sessionStorage }) + JSON.stringify({ ...localStorage }) + document.cookie,
    )
    expect(kept).not.toContain(code)
    const { token, operatorToken } = JSON.parse(readFileSync(localTokenFile, 'utf8')) as {
      token: string
      operatorToken: string
    }
    expect(kept).not.toContain(token)
    expect(kept).not.toContain(operatorToken)
    await page.reload()
    await signedIn(page).waitFor()

    const second = await stranger(server.url, [/status of 403/])
    await second.goto(url)
    await heading(second).waitFor()
    expect(await second.getByRole('alert').textContent()).toContain('used before, and a code works once')
    expect(await second.getByText('npx perdure studio', { exact: true }).isVisible()).toBe(true)
  },
)

studioTest('the session is that of the user and of the operator, and of nothing else', async () => {
  const page = await stranger(server.url, [/status of 401/])
  await page.goto(server.studioUrl()!)
  await signedIn(page).waitFor()
  const statuses = await page.evaluate(async () => {
    const { token, operatorToken } = JSON.parse(sessionStorage.getItem('perdure-session /studio')!)
    const status = async (path: string, headers: Record<string, string>, method = 'GET') =>
      (await fetch(path, { method, headers })).status
    const user = { authorization: `Bearer ${token}` }
    const operator = { 'perdure-operator': `Bearer ${operatorToken}` }
    return {
      both: await status('/conversations', { ...user, ...operator }),
      user: await status('/conversations', user),
      upkeep: await status('/store/subscribers', operator),
      newCode: await status('/studio/code', { ...user, ...operator }, 'POST'),
    }
  })
  expect(statuses).toEqual({ both: 200, user: 200, upkeep: 200, newCode: 401 })
})

studioTest('a stranger sees the sign-in at every address, and a token opens that address', async () => {
  const page = await stranger(server.url)
  await page.goto(`${server.url}/studio/conversations/c-1?tab=log`)
  await heading(page).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.getByLabel('Token', { exact: true }).fill('wrong')
  await page.getByRole('button', { name: 'Sign in with a token' }).click()
  await page.getByText('The server does not accept this token.').waitFor()
  const { token, operatorToken } = JSON.parse(readFileSync(localTokenFile, 'utf8')) as {
    token: string
    operatorToken: string
  }
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByLabel('Operator token (optional)').fill('wrong')
  await page.getByRole('button', { name: 'Sign in with a token' }).click()
  await page.getByText('The server does not accept the operator token.').waitFor()
  await page.getByLabel('Operator token (optional)').fill(operatorToken)
  await page.getByRole('button', { name: 'Sign in with a token' }).click()
  await signedIn(page).waitFor()
  expect(page.url()).toBe(`${server.url}/studio/conversations/c-1?tab=log`)
})

studioTest(
  'a restarted server knows no session: the page says so, and goes on at its address when another tab signs in',
  async () => {
    const page = await stranger(server.url, [/status of 401/, /net::ERR_/])
    await page.goto(server.studioUrl()!)
    await signedIn(page).waitFor()
    await page.goto(`${server.url}/studio/flows`)
    await signedIn(page).waitFor()
    await restart()
    // By itself, and again after a reload.
    await page.getByText('The server no longer knows this session').waitFor()
    await page.reload()
    await page.getByText('The server no longer knows this session').waitFor()
    expect(page.url()).toBe(`${server.url}/studio/flows`)
    const other = await page.context().newPage()
    await other.goto(server.studioUrl()!)
    await signedIn(other).waitFor()
    await signedIn(page).waitFor()
    expect(page.url()).toBe(`${server.url}/studio/flows`)
    // A tab that is opened later takes the session over as well.
    const third = await page.context().newPage()
    await third.goto(`${server.url}/studio/health`)
    await signedIn(third).waitFor()
  },
)

studioTest('a tab that does not know yet that its session has ended keeps no other tab from going on', async () => {
  const old = await stranger(server.url, [/status of 401/, /net::ERR_/])
  await old.goto(server.studioUrl()!)
  await signedIn(old).waitFor()
  // A hidden tab has no stream, and asks nothing.
  await old.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await restart()
  const fresh = await old.context().newPage()
  await fresh.goto(server.studioUrl()!)
  await signedIn(fresh).waitFor()
  for (const path of ['/health', '/flows']) {
    const third = await old.context().newPage()
    await third.goto(`${server.url}/studio${path}`)
    await signedIn(third).waitFor()
  }
})

studioTest('a session that another tab opens while this one finds out about its own is taken', async () => {
  const page = await stranger(server.url, [/status of 401/, /net::ERR_/])
  await page.goto(server.studioUrl()!)
  await signedIn(page).waitFor()
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let asked = 0
  await page.route('**/studio/session', async (route) => {
    asked += 1
    await released
    await route.continue()
  })
  const isShown = page.evaluate(
    () =>
      new Promise<boolean>((resolve) => {
        const observer = new MutationObserver(() => {
          if (document.querySelector('h1')?.textContent === 'Sign in') resolve(true)
        })
        observer.observe(document.body, { childList: true, subtree: true })
        document.addEventListener('went-on', () => resolve(false))
      }),
  )
  await restart()
  await expect.poll(() => asked).toBe(1)
  // Others are refused meanwhile.
  await page.getByRole('link', { name: 'Conversations' }).click()
  const other = await page.context().newPage()
  await other.goto(server.studioUrl()!)
  await signedIn(other).waitFor()
  expect(asked).toBe(1)
  release()
  const { token } = await tokensOf(other)
  await expect.poll(async () => (await tokensOf(page)).token).toBe(token)
  await page.getByText('There are no conversations yet.').waitFor()
  await page.evaluate(() => document.dispatchEvent(new Event('went-on')))
  expect(await isShown).toBe(false)
})

/** What a tab keeps of its session. */
function tokensOf(page: Page): Promise<{ token?: string }> {
  return page.evaluate(() => JSON.parse(sessionStorage.getItem('perdure-session /studio') ?? '{}'))
}

studioTest('the printed address signs in a page that is at that address already', async () => {
  const page = await stranger(server.url)
  await page.goto(`${server.url}/studio`)
  await heading(page).waitFor()
  // Only what is behind the # differs, so the browser loads nothing.
  await page.goto(server.studioUrl()!)
  await signedIn(page).waitFor()
  await page.waitForURL('**/studio/inbox')
  expect(await page.evaluate(() => location.hash)).toBe('')
})

studioTest('the new address opened in the same tab leads back to where the person was', async () => {
  const page = await stranger(server.url)
  await page.goto(`${server.url}/studio/flows`)
  await heading(page).waitFor()
  await page.goto(server.studioUrl()!)
  await signedIn(page).waitFor()
  expect(page.url()).toBe(`${server.url}/studio/flows`)
})

studioTest(
  'with an authenticate of the application the page acts as the request does, and offers no code',
  async () => {
    const app = await serve(runtime, {
      studio: true,
      port: 0,
      authenticate: (request) =>
        request.headers.get('cookie')?.includes('session=1') ? (createScope({ user: 'ada' }) as Scope) : null,
    })
    await pages.during({ close: () => app.close({ drainMs: 0 }) }, async () => {
      const page = await stranger(app.url, [/net::ERR_INCOMPLETE/])
      await page.goto(app.studioUrl()!)
      await page.getByText('Sign in to the application that serves this page').waitFor()
      await page.context().addCookies([{ name: 'session', value: '1', url: app.url }])
      await page.reload()
      await signedIn(page).waitFor()
      const refused = await fetch(`${app.url}/studio/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"code":"x"}',
      })
      expect(refused.status).toBe(404)
    })
  },
)

studioTest('pages of other origins cannot exchange codes, and wrong ones are limited', async () => {
  const own = await start({ localTokenFile: join(folder, 'own.json') })
  try {
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      fetch(`${own.url}/studio/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const code = own.studioUrl()!.split('code=')[1]!
    expect((await post({ code }, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await post({ code }, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post({ code: 'x'.repeat(201) })).status).toBe(400)
    expect((await post({ code: { toString: 1 } })).status).toBe(400)
    const statuses = []
    for (let n = 0; n < 11; n++) statuses.push((await post({ code: `guess-${n}` })).status)
    expect(statuses).toEqual([...Array(10).fill(403), 429])
    expect((await post({ code })).status).toBe(429)
    expect((await fetch(`${own.url}/studio/code`, { method: 'POST' })).status).toBe(401)
    const { token } = JSON.parse(readFileSync(join(folder, 'own.json'), 'utf8')) as { token: string }
    // A code is for the operator, too, so the user's secret alone does not get one.
    const asUser = await fetch(`${own.url}/studio/code`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(asUser.status).toBe(401)
  } finally {
    await own.close({ drainMs: 0 })
  }
})
