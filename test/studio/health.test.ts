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
})

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

/** The pixels of a chart in the last two of its sixty minutes, or their like in a day, that are darker than its grid. Labels stand outside of the plot. */
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
    const [top, bottom] = [plot.top - box.top, plot.bottom - box.top].map((edge) => Math.round(edge * scale))
    const { data } = canvas.getContext('2d')!.getImageData(from, top!, to - from, bottom! - top!)
    let ink = 0
    for (let at = 0; at < data.length; at += 4) {
      const darkest = Math.min(data[at]!, data[at + 1]!, data[at + 2]!)
      if (data[at + 3]! > 100 && darkest < 150) ink += 1
    }
    return ink
  }, title)
}

/** The row of a section with this text. */
const row = (page: Page, section: string, text: string | RegExp) =>
  page.getByRole('region', { name: section }).getByRole('listitem').filter({ hasText: text })

studioTest('an operator sees the nodes, drains one after a question, and lets it work again', async () => {
  const beat = { version: '9.9.9', works: true, capacity: 7, agents: ['helper'], agentCount: 1, everyMs: 600_000 }
  await studio.store!.nodes!.beat({ ...beat, holder: 'second-node', drain: null })
  const page = await studio.open('/health')
  const second = row(page, 'Nodes', 'second-node')
  await second.getByText('version 9.9.9').waitFor()
  await second.getByText('0 of 7 held').waitFor()
  expect(await row(page, 'Nodes', '9.9.9').count()).toBe(1)
  expect(await page.getByRole('region', { name: 'Nodes' }).getByRole('listitem').count()).toBe(2)
  const drainOf = async () => (await studio.runtime!.nodes()).find(({ holder }) => holder === 'second-node')!.drain
  await second.getByRole('button', { name: 'Drain second-node' }).click()
  const dialog = page.getByRole('dialog', { name: 'Drain this node?' })
  await dialog.getByText('takes no more work').waitFor()
  expect(await drainOf()).toBeNull()
  await dialog.getByRole('button', { name: 'Drain' }).click()
  await second.getByText(/draining, asked .* by operator/).waitFor()
  expect(await drainOf()).toMatchObject({ who: 'operator', drainMs: 10_000 })
  await second.getByRole('button', { name: 'Undrain second-node' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Undrain' }).click()
  await second.getByText('works', { exact: true }).waitFor()
  expect(await drainOf()).toBeNull()
})

studioTest('what is paused is on the page, also as due work, and is resumed there', async () => {
  const page = await studio.open('/health')
  const region = (name: string) => page.getByRole('region', { name })
  await region('Paused').getByText('Nothing is paused.').waitFor()
  await region('Oldest due work').getByText('Nothing is due').waitFor()
  await studio.runtime!.pause({ agent: 'helper' }, { who: 'ann', reason: 'a broken\u202e lamp' })
  const ann = studio.runtime!.as(createScope({ user: 'ann' }) as Scope)
  const turn = await ann.conversation('h-paused', { agent: 'helper' }).send('hello')
  await page.reload()
  await row(page, 'Paused', 'agent helper').getByText('by ann').waitFor()
  await row(page, 'Oldest due work', 'h-paused').getByText('paused', { exact: true }).waitFor()
  expect(await page.locator('main').textContent()).not.toMatch(/\p{Bidi_Control}/u)
  await page.getByRole('button', { name: 'Resume agent helper' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
  await region('Paused').getByText('Nothing is paused.').waitFor()
  expect(await turn.outcome()).toMatchObject({ status: 'completed' })
})

studioTest('a bulk job shows how far it is, and is stopped there', async () => {
  const acme = studio.runtime!.as(createScope({ user: 'ann', tenant: 'acme' }) as Scope)
  // More than a job acts on, at this pace, while the test lasts.
  const ids = Array.from({ length: 40 }, (_, n) => `a-${n}`)
  await Promise.all(
    ids.map(async (id) => (await acme.conversation(id, { agent: 'helper' }).send('please pay')).outcome()),
  )
  const request = { action: 'cancel', tenant: 'acme', filter: { status: 'waiting' }, who: 'ann', perSecond: 1 } as const
  const { id } = await studio.runtime!.bulk.start(request)
  const page = await studio.open('/health')
  const job = row(page, 'Bulk jobs', 'cancel in tenant acme')
  await job.getByText(/^[1-9]\d* done, 0 skipped, 0 failed$/).waitFor()
  await job.getByText('running', { exact: true }).waitFor()
  await job.getByText('by ann').waitFor()
  await job.getByRole('button', { name: `Stop job ${id}` }).click()
  await page.getByRole('dialog', { name: 'Stop this job?' }).getByRole('button', { name: 'Stop' }).click()
  await job.getByText(/^(stopping|stopped)$/).waitFor()
  expect(await job.getByRole('button').count()).toBe(0)
  expect((await studio.runtime!.bulk.get(id))!.state).toMatch(/^stop/)
})

studioTest('an operator pauses a conversation on its page and resumes it there; others read since when', async () => {
  const ann = studio.runtime!.as(createScope({ user: 'ann' }) as Scope)
  await (await ann.conversation('h-here', { agent: 'helper' }).send('hello')).outcome()
  const page = await studio.open('/conversations/h-here')
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Pause…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await page.getByText(/^Paused .*: messages queue/).waitFor()
  expect(await studio.runtime!.pauses()).toMatchObject([{ target: { conversation: 'h-here', tenant: 'default' } }])
  const visitor = await studio.open('/conversations/h-here', { user: 'visitor' })
  await visitor.getByText('until an operator resumes it.').waitFor()
  expect(await visitor.getByRole('button', { name: 'Resume' }).count()).toBe(0)
  // A list may say for a second that nothing is paused.
  const inList = async () =>
    (await studio.client().conversations()).conversations.find(({ id }) => id === 'h-here')!.paused
  await expect.poll(inList).toBeDefined()
  await visitor.goto(`${studio.url}/studio/conversations`)
  await visitor.getByRole('link').filter({ hasText: 'h-here' }).getByText('paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(() => page.getByText('messages queue').count()).toBe(0)
  expect(await studio.runtime!.pauses()).toEqual([])
})
