import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { browserTest } from '../support/browser/browser-test.ts'
import { whichBrowser } from '../support/browser/find-browser.ts'

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end(
    '<!doctype html><title>A page</title><p style="font: 40px sans-serif; margin: 0">Waiting for an answer</p>',
  )
})
let url = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

browserTest('text has a width and leaves ink on the screen, because there are fonts', async ({ page }) => {
  await page.goto(url)
  const width = (text: string): Promise<number> =>
    page.evaluate((given) => {
      const range = document.createRange()
      const paragraph = document.querySelector('p')!
      paragraph.textContent = given
      range.selectNodeContents(paragraph)
      return range.getBoundingClientRect().width
    }, text)
  const [narrow, wide] = [await width('iiiiiiii'), await width('wwwwwwww')]
  expect(wide).toBeGreaterThan(narrow * 2)
  const full = await page.screenshot()
  await width('')
  const blank = await page.screenshot()
  // Without fonts every character is blank, and both pictures are the same.
  expect(full.equals(blank)).toBe(false)
  expect(full.length).toBeGreaterThan(blank.length)
})

browserTest('each test has a page of its own', async ({ page }) => {
  await page.goto(url)
  expect(await page.evaluate(() => localStorage.length)).toBe(0)
  await page.evaluate(() => localStorage.setItem('left', 'behind'))
})

browserTest('a page does not keep what an earlier one stored', async ({ page }) => {
  await page.goto(url)
  expect(await page.evaluate(() => localStorage.getItem('left'))).toBe(null)
})

browserTest.fails('an error that a page does not catch fails its test', async ({ page }) => {
  await page.goto(url)
  const thrown = page.waitForEvent('pageerror')
  await page.evaluate(
    () =>
      void setTimeout(() => {
        throw new Error('not caught')
      }, 0),
  )
  await thrown
})

test('a browser named by the environment comes first, then that of npm, then one of the system', () => {
  const env = { PERDURE_BROWSER: process.execPath }
  expect(whichBrowser({ platform: 'linux', arch: 'x64', env })).toEqual({ path: process.execPath })
  expect(whichBrowser({ platform: 'linux', arch: 'x64', env: {} })).toBe('npm')
  expect(whichBrowser({ platform: 'sunos', arch: 'x64', env: {} })).toBe(null)
  expect(() => whichBrowser({ platform: 'linux', arch: 'x64', env: { PERDURE_BROWSER: '/nowhere/chrome' } })).toThrow(
    "PERDURE_BROWSER names '/nowhere/chrome', where there is no file.",
  )
})
