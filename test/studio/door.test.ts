import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import { createScope, defineAgent, type Scope } from 'perdure'
import { createHandler, toNodeListener } from 'perdure/server'
import { scriptedModel } from 'perdure/testing'
import { expect, test } from 'vitest'
import { rawRequest } from '../server/raw-request.ts'
import { openStudio } from './open-studio.ts'
import { openedPages, studioTest } from './opened-pages.ts'
import { userCookie } from './studio-page.ts'

const studio = openStudio({ agents: [defineAgent({ name: 'support', model: scriptedModel('The secret of acme.') })] })
const pages = openedPages()
const assets = readdirSync(join(import.meta.dirname, '..', '..', 'dist', 'studio', 'assets'))
const script = assets.find((name) => /^index-.*\.js$/.test(name))!

studioTest('a deep link opens its page, and a reload stays on it', async () => {
  const page = await studio.open('/flows?status=waiting')
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await page.reload()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  expect(page.url()).toBe(`${studio.url}/studio/flows?status=waiting`)
})

studioTest('the start of the studio is the inbox', async () => {
  const page = await studio.open('')
  await page.waitForURL('**/studio/inbox')
})

studioTest('a script that the page did not bring is refused, and reported to its test', async () => {
  const { page, context, problems, takeProblems } = await pages.open(studio.url)
  await page.goto(`${studio.url}/studio/inbox`)
  await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'document.title = "taken"'
    document.body.append(script)
  })
  await expect.poll(() => problems.join('\n')).toMatch(/content security policy: script-src-elem blocked inline/)
  expect(await page.title()).not.toBe('taken')
  await expect.poll(() => problems).toHaveLength(2)
  await context.close()
  expect(takeProblems().filter((problem) => problem.startsWith('console: '))).toHaveLength(1)
})

studioTest('a request to another origin is refused, and reported to its test', async () => {
  const { page, context, problems, takeProblems } = await pages.open(studio.url)
  await page.goto(`${studio.url}/studio/inbox`)
  await page.evaluate(() => fetch('http://localhost:1/').catch(() => {}))
  await expect.poll(() => problems.join('\n')).toContain('content security policy: connect-src blocked')
  await page.goto('http://localhost:1/').catch(() => {})
  await expect.poll(() => problems.join('\n')).toContain('request to http://localhost:1/')
  await context.close()
  takeProblems()
})

studioTest.fails('what is reported fails the test', async () => {
  const page = await studio.open('/inbox')
  const told = page.waitForEvent('console')
  await page.evaluate(() => console.error('reported'))
  await told
})

studioTest(
  'mounted in an application of Express, the page loads, signs in by its cookie and calls the API beside it',
  async () => {
    const handler = createHandler(studio.runtime!, {
      studio: true,
      basePath: '/api/agents',
      authenticate: (request) =>
        request.headers.get('cookie')?.includes('app=1') ? (createScope({ user: 'ann' }) as Scope) : null,
    })
    const app = express().use('/api/agents', toNodeListener(handler))
    const server = createServer(app)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const close = (): void => {
      handler.close()
      server.closeAllConnections()
      server.close()
    }
    await pages.during({ close }, async () => {
      const { page, context } = await pages.open(origin)
      await context.addCookies([{ name: 'app', value: '1', url: origin }])
      const listed = page.waitForResponse((response) => new URL(response.url()).pathname === '/api/agents/inbox')
      await page.goto(`${origin}/api/agents/studio/inbox`)
      expect((await listed).status()).toBe(200)
      await page.getByRole('link', { name: /^Flows/ }).click()
      expect(page.url()).toBe(`${origin}/api/agents/studio/flows`)
    })
  },
)

test('hashed files are kept for ever and sent compressed; the page is asked for again', async () => {
  const file = await fetch(`${studio.url}/studio/assets/${script}`, { headers: { 'accept-encoding': 'br' } })
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'br',
    'content-type': 'text/javascript; charset=utf-8',
    'x-content-type-options': 'nosniff',
  })
  expect((await file.text()).length).toBeGreaterThan(Number(file.headers.get('content-length')))
  const page = await fetch(`${studio.url}/studio/inbox`)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
  expect(await page.text()).not.toMatch(/<script(?![^>]* src=)|<style|style="|onload=/)
  const etag = page.headers.get('etag')!
  expect((await fetch(`${studio.url}/studio/inbox`, { headers: { 'if-none-match': etag } })).status).toBe(304)
  expect((await fetch(`${studio.url}/studio/inbox`, { method: 'HEAD' })).status).toBe(200)
  expect((await fetch(`${studio.url}/studio/inbox`, { method: 'POST' })).status).toBe(405)
})

test('each text of the build is there in both compressed forms', () => {
  const texts = assets.filter((name) => /\.(js|css)$/.test(name))
  expect(texts.length).toBeGreaterThan(5)
  expect(texts.flatMap((name) => [`${name}.br`, `${name}.gz`]).filter((name) => !assets.includes(name))).toEqual([])
})

test.each([
  '/studio/assets/../../package.json',
  '/studio/assets/..%2f..%2f..%2fpackage.json',
  '/studio/assets/%2e%2e/%2e%2e/%2e%2e/package.json',
  '/studio/assets/....//package.json',
  '/studio/assets/%00.js',
  '/studio/assets//etc/passwd',
])('%s leads out of the folder for no raw request', async (path) => {
  const { port } = new URL(studio.url)
  const text = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`
  const { status, body } = await rawRequest(Number(port), text)
  expect(body).not.toMatch(/devDependencies|root:/)
  expect([400, 404]).toContain(status)
})

test('a link on another page may lead to the studio, and that page still cannot call anything', async () => {
  const elsewhere = { headers: { 'sec-fetch-site': 'cross-site' } }
  expect((await fetch(`${studio.url}/studio/inbox`, elsewhere)).status).toBe(200)
  expect((await fetch(`${studio.url}/studio/session`, elsewhere)).status).toBe(403)
  expect((await fetch(`${studio.url}/conversations`, elsewhere)).status).toBe(403)
})

test('no route of the studio tells one tenant anything of another', async () => {
  const talk = studio.client('ann', 'acme').conversation('acme-1', { agent: 'support' })
  await talk.outcome((await talk.send('Keep the word xyzzy.')).turnId)
  const as = (user: string, tenant: string): Record<string, string> => ({
    cookie: `${userCookie}=${encodeURIComponent(JSON.stringify({ user, tenant }))}`,
  })
  const paths = [
    '/studio',
    '/studio/inbox',
    '/studio/conversations/acme-1',
    '/studio/session',
    `/studio/assets/${script}`,
  ]
  for (const path of paths) {
    const answers = []
    for (const headers of [as('ann', 'acme'), as('gus', 'globex'), {}]) {
      const response = await fetch(studio.url + path, { headers })
      answers.push([response.status, response.headers.get('etag'), await response.text()])
      expect(JSON.stringify(answers)).not.toMatch(/xyzzy|secret of acme/)
    }
    // The same bytes for everyone; the session differs only for those whom the server does not know.
    expect(answers[1]).toEqual(answers[0])
    if (path !== '/studio/session') expect(answers[2]).toEqual(answers[0])
  }
  const known = await (await fetch(`${studio.url}/studio/session`, { headers: as('gus', 'globex') })).json()
  expect(known).toEqual({ isSignedIn: true, isOperator: true, hasCodes: false })
  for (const path of ['/conversations', '/inbox', '/sessions']) {
    const answer = await (await fetch(studio.url + path, { headers: as('gus', 'globex') })).text()
    expect(answer).not.toContain('acme')
  }
  expect((await fetch(`${studio.url}/conversations/acme-1/view`, { headers: as('gus', 'globex') })).status).toBe(404)
})
