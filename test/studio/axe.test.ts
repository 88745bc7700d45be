import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { violations } from './axe.ts'
import { fillWorld, world } from './look-world.ts'
import { openExport } from './open-export.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { emptyPages, everyPage } from './pages.ts'
import { settled } from './settled.ts'

const studio = openStudio(world)
const notFound = [/status of 404/]
const go = async (page: Page, path: string): Promise<void> => {
  await page.goto(`${studio.url}/studio${path}`)
  await settled(page)
}

beforeAll(async () => {
  if (studio.runtime) await fillWorld(studio.runtime)
})

for (const width of [1440, 390])
  studioTest(`axe finds no violation on any page at ${width} px, in light and dark`, async () => {
    const page = await studio.open('/inbox', { width, expected: notFound })
    const found: string[] = []
    for (const path of [...everyPage, ...emptyPages]) {
      await go(page, path)
      found.push(...(await violations(page, path)))
    }
    expect(found).toEqual([])
  })

/** What a page shows after some clicks. */
const opened: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'the keys': async (page) => {
    await go(page, '/flows')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys and more' }).waitFor()
  },
  'the search': async (page) => {
    await go(page, '/flows')
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Title or id' }).fill('ticket')
    await page.getByRole('dialog').getByRole('option').first().waitFor()
  },
  'the question before a node is drained': async (page) => {
    await go(page, '/health')
    await page
      .getByRole('button', { name: /^Drain/ })
      .first()
      .click()
    await page.getByRole('dialog', { name: 'Drain this node?' }).waitFor()
  },
  'a conversation that is paused': async (page) => {
    await studio.runtime!.pause({ conversation: 'hello' })
    await go(page, '/conversations/hello')
    await page.getByText('Paused').first().waitFor()
  },
  'what is paused, on the health page': async (page) => {
    await go(page, '/health')
    await page.getByRole('button', { name: /^Resume conversation hello/ }).waitFor()
  },
  'a denial': async (page) => {
    await go(page, '/inbox')
    await page
      .getByText(/Refund/)
      .last()
      .click()
    await page.getByRole('button', { name: 'Deny…' }).click()
    await page.getByRole('dialog', { name: 'Deny' }).waitFor()
  },
  'many that are selected': async (page) => {
    await go(page, '/inbox')
    await page.getByLabel('Select Refund').first().check({ force: true })
    await page.getByLabel('Select Refund').last().check({ force: true })
    const review = page.getByRole('button', { name: 'Answer them…' })
    if (await review.isVisible()) await review.click()
    await page.getByRole('heading', { name: '2 selected' }).waitFor()
  },
  'open cards': async (page) => {
    await go(page, '/conversations/ticket-48')
    const closed = page.locator('article button[aria-expanded=false]')
    while ((await closed.count()) > 0) await closed.first().click()
    await page.getByText('Result').first().waitFor()
  },
  'a child that waits': async (page) => {
    await go(page, '/conversations/ticket-46')
    await page.getByRole('button', { name: 'Answer here' }).click()
    await page.getByRole('button', { name: 'Approve' }).waitFor()
  },
  'the menu of a conversation': async (page) => {
    await go(page, '/conversations/ticket-42')
    await page.locator('section header').getByRole('button', { name: 'More', exact: true }).first().click()
    await page.getByRole('button', { name: 'Export' }).waitFor()
  },
  'a deletion': async (page) => {
    await go(page, '/conversations/ticket-42')
    await page.locator('section header').getByRole('button', { name: 'More', exact: true }).first().click()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').waitFor()
  },
  'an inbox with nothing in it': async (page) => {
    const nobody = await studio.open('/inbox', { tenant: 'empty', width: page.viewportSize()!.width })
    await nobody.getByRole('heading', { level: 1, name: 'Nothing is waiting.' }).waitFor()
    expect(await violations(nobody, 'an empty inbox')).toEqual([])
  },
  'a file that was opened': async (page) => {
    await go(page, '/open/conversations/ticket-48')
    await openExport(page, studio.url)
    await page.getByText('Anything else?').first().waitFor()
    await settled(page)
  },
  'the sign-in': async (page) => {
    const cookies = await page.context().cookies()
    await page.context().clearCookies()
    await page.goto(`${studio.url}/studio/inbox`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await violations(page, 'the sign-in')).toEqual([])
    await page.context().addCookies(cookies)
  },
}

for (const width of [1440, 390])
  studioTest(`axe finds no violation in dialogs, open cards, a selection and the sign-in at ${width} px`, async () => {
    const page = await studio.open('/inbox', { width, expected: [/status of 401/] })
    const found: string[] = []
    for (const [name, show] of Object.entries(opened)) {
      await show(page)
      found.push(...(await violations(page, name)))
    }
    expect(found).toEqual([])
  })
