import { createScope, defineAgent, defineTool, type Scope } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: () => 'paid',
})
const usage = { inputTokens: 100, outputTokens: 20 }
const model = scriptedModel(
  ({ prompt }) => {
    const last = JSON.stringify(prompt.at(-1))
    if (last.includes('broken')) return { error: { status: 400, message: 'no' } }
    return last.includes('please pay') ? { calls: [{ tool: 'pay', args: {} }], usage } : { text: 'Done.', usage }
  },
  { provider: 'made\u202eup', modelId: 'm1' },
)
const studio = openStudio({ agents: [defineAgent({ name: 'helper', model, tools: [pay], audit: 'full' })] })

beforeAll(async () => {
  const ann = studio.runtime!.as(createScope({ user: 'ann' }) as Scope)
  const say = async (id: string, text: string): Promise<void> => {
    await (await ann.conversation(id, { agent: 'helper' }).send(text)).outcome()
  }
  await say('h-1', 'hello')
  await say('h-2', 'broken')
  await say('h-3', 'please pay')
  const { pending } = await ann.conversation('h-3').view()
  await ann.conversation('h-3').approve(pending[0]!.callId)
  await ann.conversation('h-3').outcome()
  await say('h-4', 'please pay')
}, 30_000)

studioTest('the figures of the last hour are those of the store, as numbers and as charts', async () => {
  const page = await studio.open('/health')
  const figure = (name: string) => page.locator('dt', { hasText: name }).locator('+ dd')
  await expect.poll(() => figure('Turns').textContent()).toBe('3')
  expect(await figure('Failed').textContent()).toBe('1')
  expect(await figure('Waiting').textContent()).toBe('1')
  expect(await figure('Tokens').first().textContent()).toBe('480')
  await page.getByText('Numbers of Turns').click()
  const turns = page.getByRole('figure').filter({ has: page.getByRole('heading', { name: 'Turns', exact: true }) })
  const rows = (await turns.locator('tbody tr').allTextContents()).map((row) => row.replace(/^\d\d:\d\d/, ''))
  expect(rows.map((row) => Number(row[0])).reduce((sum, ended) => sum + ended, 0)).toBe(3)
  // What has just happened is in the newest bucket or the one before it: at the right edge, and inside the plot.
  for (const title of ['Turns', 'Tokens', 'Errors', 'Model calls']) {
    await expect.poll(() => inkAtTheEnd(page, title), { message: title }).toBeGreaterThan(0)
  }
  expect(await page.locator('main').textContent()).not.toMatch(/\p{Bidi_Control}/u)
})

studioTest('there are charts in a browser whose language no formatter knows', async () => {
  const page = await studio.open('/flows')
  await page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })
  })
  await page.goto(`${studio.url}/studio/health`)
  await expect.poll(() => inkAtTheEnd(page, 'Turns')).toBeGreaterThan(0)
})

studioTest('the longer view is in the address, and survives a reload', async () => {
  const page = await studio.open('/health')
  await page.getByRole('button', { name: 'Last day' }).click()
  await page.waitForURL('**/health?window=day')
  await page.reload()
  await page.getByRole('button', { name: 'Last day', pressed: true }).waitFor()
  await expect.poll(() => page.locator('dt', { hasText: 'Turns' }).locator('+ dd').textContent()).toBe('3')
  await expect.poll(() => inkAtTheEnd(page, 'Tokens')).toBeGreaterThan(0)
})

studioTest('who is no operator reads what to do, and no figure', async () => {
  const page = await studio.open('/health', { user: 'visitor', expected: [/status of 40[13]/] })
  await page.getByRole('heading', { name: 'You may not see this page.' }).waitFor()
  await page.getByText('Sign in with an operator’s token').waitFor()
  expect(await page.getByRole('figure').count()).toBe(0)
})

/** The coloured pixels of a chart in the last two of its sixty minutes, or their like in a day. Its lines and labels are grey. */
function inkAtTheEnd(page: Page, title: string): Promise<number> {
  return page.evaluate((name) => {
    const heading = [...document.querySelectorAll('figure h2')].find(({ textContent }) => textContent === name)!
    const figure = heading.closest('figure')!
    const canvas = figure.querySelector('canvas')!
    const plot = figure.querySelector('.u-over')!.getBoundingClientRect()
    const box = canvas.getBoundingClientRect()
    const scale = canvas.width / box.width
    const from = Math.floor((plot.right - box.left - plot.width / 28) * scale)
    const to = Math.ceil((plot.right - box.left) * scale)
    const { data } = canvas.getContext('2d')!.getImageData(from, 0, to - from, canvas.height)
    let ink = 0
    for (let at = 0; at < data.length; at += 4) {
      const [red, green, blue] = [data[at]!, data[at + 1]!, data[at + 2]!]
      if (data[at + 3]! > 100 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) ink += 1
    }
    return ink
  }, title)
}
