import { createScope, defineAgent, defineFlow, defineTool, type Scope } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { type CuttableLine, cuttableLine } from './cuttable-line.ts'
import { openStudio } from './open-studio.ts'
import { openedPages, studioTest } from './opened-pages.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string() }),
  approval: 'required',
  describe: ({ orderId }) => `Refund ${orderId}`,
  run: () => 'paid',
})
const support = defineAgent({
  name: 'support',
  tools: [refund],
  model: scriptedModel(({ prompt }) =>
    prompt.at(-1)!.role === 'tool' ? 'Done.' : { calls: [{ tool: 'refund', args: { orderId: 'o-1' } }] },
  ),
})
const visit = defineFlow({ name: 'visit', version: 1, run: (flow) => flow.suspend('How many come?') })
const studio = openStudio({ agents: [support], flows: [visit] })

const pages = openedPages()
const as = (tenant: string) => studio.runtime!.as(createScope({ user: 'ann', tenant }) as Scope)
const lost = (page: Page) => page.getByText('The server does not answer.')

/** A page whose connections can be cut, while the server goes on. */
async function behindLine(tenant: string, use: (page: Page, line: CuttableLine) => Promise<void>): Promise<void> {
  const line = await cuttableLine(studio.url)
  await pages.during({ close: line.cut }, async () => {
    const { page } = await pages.open(line.url, { tenant, expected: [/net::ERR_/] })
    await page.goto(`${line.url}/studio/inbox`)
    await use(page, line)
  })
}

studioTest('empty pages stay what they are while the server does not answer', () =>
  behindLine('quiet', async (page, line) => {
    const empty = [
      ['1', 'Nothing is waiting.'],
      ['2', 'There are no conversations yet.'],
      ['3', 'No session of a flow has been started.'],
    ] as const
    for (const [key, words] of empty) {
      await page.keyboard.press(key)
      await page.getByText(words).waitFor()
      await line.cut()
      await lost(page).waitFor()
      await page.getByText(words).waitFor()
      expect(await page.locator('[aria-busy=true], [aria-label=Loading]').count()).toBe(0)
      await line.mend()
      await lost(page).waitFor({ state: 'detached' })
      await page.getByText(words).waitFor()
    }
  }),
)

studioTest('what missed nothing is known to be current once the server answers again', () =>
  behindLine('shop', async (page, line) => {
    await (await as('shop').conversation('ticket', { agent: 'support' }).send('refund')).outcome()
    await as('shop').flow('visit', 'v-1').start(null)
    const rows = page.getByRole('list', { name: 'Waiting' }).getByRole('listitem')
    await expect.poll(() => rows.count()).toBe(2)
    await line.cut()
    await page.getByText('not up to date').waitFor()
    expect(await rows.count()).toBe(2)
    const asked: string[] = []
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
    await line.mend()
    await page.getByText('not up to date').waitFor({ state: 'detached' })
    // The stream says what was missed: nothing is read again.
    expect(asked.filter((path) => path === '/inbox')).toEqual([])
    // And it hears what happens from then on.
    await as('shop').flow('visit', 'v-1').resume(2)
    await rows.getByText('Answered by ann').waitFor()
  }),
)

studioTest('rows that could not be read are read once a person tries again', async () => {
  const tenant = studio.store!.forTenant('many')
  for (let n = 0; n < 400; n += 1)
    await tenant.putConversation(`many-${n}`, { agent: 'support', owner: 'ann', title: `Order ${n}` })
  const page = await studio.open('/flows', { tenant: 'many', expected: [/net::ERR_/] })
  await page.getByText('No session of a flow has been started.').waitFor()
  const later = /\/conversations\?.*before=/
  await page.route(later, (route) => route.abort())
  await page.keyboard.press('2')
  await page.getByText('Order 399').waitFor()
  const list = page.getByRole('list', { name: 'Conversations' }).locator('..')
  const toEnd = (): Promise<void> => list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
  await expect
    .poll(async () => {
      await toEnd()
      return list.getByText('The server cannot be reached.').isVisible()
    })
    .toBe(true)
  await page.unroute(later)
  await list.getByRole('button', { name: 'Try again' }).click()
  await expect
    .poll(async () => {
      await toEnd()
      return page.getByText('Order 0', { exact: true }).count()
    })
    .toBe(1)
  expect(await list.getByText('The server cannot be reached.').count()).toBe(0)
})
