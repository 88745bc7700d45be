import { defineAgent, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'
import { looked, withoutTime } from './settled.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  approval: 'required',
  describe: ({ orderId }) => `Refund ${orderId}`,
  run: ({ cents }) => ({ paid: cents }),
})
const restart = defineTool({
  name: 'restart',
  description: 'Restart the shop',
  input: z.object({}),
  approval: 'required',
  describe: () => 'Restart the shop',
  run: () => 'restarted',
})
const support = defineAgent({
  name: 'support',
  tools: [refund, restart],
  model: scriptedModel(({ prompt }) => {
    const [part] = prompt.at(-1)!.content
    if (prompt.at(-1)!.role !== 'user' || typeof part === 'string' || part?.type !== 'text') return 'Done.'
    if (part.text === 'restart') return { calls: [{ tool: 'restart', args: {} }] }
    return { calls: [{ tool: 'refund', args: { orderId: part.text, cents: 100 } }] }
  }),
})
const studio = openStudio({ agents: [support], flows: [] })

async function ask(tenant: string, id: string, text: string): Promise<void> {
  const conversation = studio.client('ann', tenant).conversation(id, { agent: 'support' })
  const { turnId } = await conversation.send(text)
  expect((await conversation.outcome(turnId)).status).toBe('waiting')
}

async function resolutions(tenant: string, id: string) {
  const events = await studio.client('ann', tenant).conversation(id).events()
  return events.flatMap((event) => (event.type === 'resolution' ? [event.content] : []))
}

async function openInbox(tenant: string, heading: string): Promise<Page> {
  const page = await studio.open('/inbox', { tenant })
  await page.getByRole('heading', { name: heading }).waitFor()
  // Shown for as long as a person looks.
  await looked(page)
  return page
}

const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.tagName ?? '')

studioTest('a reason of any letters and spaces, typed at once after D, denies', async () => {
  await ask('deny', 'd-1', 'o-1')
  const page = await openInbox('deny', 'Refund o-1')
  await page.keyboard.press('d')
  await page.getByRole('dialog', { name: 'Deny' }).waitFor()
  expect(await focused(page)).toBe('TEXTAREA')
  await page.keyboard.type('not a chance, add a dad')
  await page.keyboard.press('Enter')
  await expect.poll(() => resolutions('deny', 'd-1')).toHaveLength(1)
  expect(await resolutions('deny', 'd-1')).toMatchObject([
    { status: 'denied', value: { reason: 'not a chance, add a dad' } },
  ])
})

let attempts = 0
studioTest('letters typed on after a dialog closed answer nothing', async () => {
  attempts += 1
  const tenant = `closed-${attempts}`
  await ask(tenant, 'c-1', 'o-1')
  const page = await openInbox(tenant, 'Refund o-1')
  for (const opens of ['d', '?', '/']) {
    await page.keyboard.press(opens)
    await page.locator('dialog[open]').waitFor()
    const goOn = await withoutTime(page)
    await page.keyboard.press('Escape')
    await page.locator('dialog[open]').waitFor({ state: 'detached' })
    // Letters that come before the page hears keys again do nothing at all.
    const said = async (): Promise<number> => {
      await page.keyboard.type('ada')
      return page.getByText('Not sent: a dialog had only just closed. Press again.').count()
    }
    await expect.poll(said, { timeout: 30_000 }).toBe(1)
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await goOn()
    await looked(page)
  }
  expect(await resolutions(tenant, 'c-1')).toEqual([])
  await page.keyboard.press('a')
  await expect.poll(() => resolutions(tenant, 'c-1')).toMatchObject([{ status: 'resolved' }])
})

studioTest('Enter goes to the form of the item that J and K chose, and never presses a button of it', async () => {
  await ask('enter', 'e-1', 'restart')
  await ask('enter', 'e-2', 'o-2')
  const page = await openInbox('enter', 'Refund o-2')
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('INPUT')
  // A row that was clicked has the focus; the keys go on from it.
  await page.getByRole('button', { name: /^Refund o-2/ }).click()
  await page.keyboard.press('j')
  await page.getByRole('heading', { name: 'Restart the shop' }).waitFor()
  await looked(page)
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('ARTICLE')
  await page.keyboard.press('Enter')
  expect(await resolutions('enter', 'e-1')).toEqual([])
  expect(await page.getByRole('heading', { name: 'Restart the shop' }).count()).toBe(1)
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keys and more' })
  for (const key of ['J', 'K', 'Enter', 'E', 'X', '*', 'N', 'F', 'R', 'A', 'D'])
    expect(await help.getByText(key, { exact: true }).count(), key).toBe(1)
})
