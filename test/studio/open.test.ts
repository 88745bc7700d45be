import { readFileSync } from 'node:fs'
import { defineFlow } from 'perdure'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { lived, support, untilIdle } from './lived-world.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { userCookie } from './studio-page.ts'

const parcel = defineFlow({
  name: 'parcel',
  version: 1,
  input: z.object({}),
  run: async (flow) => flow.suspend({ ask: 'manager' }, { schema: z.object({ ok: z.boolean() }) }),
})

const studio = openStudio({ agents: [support], flows: [parcel] })
const conversation = (id: string) => studio.client().conversation(id, { agent: 'support' })

/** What a person reads in the transcript. */
async function transcript(page: Page): Promise<string[]> {
  const messages = await page.getByRole('log', { name: 'Transcript' }).getByRole('article').allInnerTexts()
  return messages.map((text) => text.replaceAll(/\s+/g, ' '))
}

studioTest('an export opens without a network, and shows the same', async () => {
  await lived(conversation('exported'))
  await studio.client().flow('parcel', 'parcel-1').start({})
  const cookie = `${userCookie}=${encodeURIComponent(JSON.stringify({ user: 'ann', tenant: '' }))}`
  const exported = await (await fetch(`${studio.url}/store/export`, { headers: { cookie } })).text()
  const live = await studio.open('/conversations/exported')
  await live.getByRole('slider', { name: 'The moment that is shown' }).waitFor()
  await live.getByText('You have your money back.').first().waitFor()
  const page = await studio.open('/open/conversations/exported?tab=log', { expected: [/ERR_INTERNET_DISCONNECTED/] })
  await page.getByRole('heading', { name: 'Open an export' }).waitFor()
  // The pages are loaded; from here on nothing may be asked of a server.
  await page.context().setOffline(true)
  const file = (text: string) => ({ name: 'backup.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from(text) })
  await page.getByLabel('Export file').setInputFiles(file('{"format":"something else"}\n'))
  await page.getByRole('alert').getByText('was not written by perdure export').waitFor()
  await page.getByLabel('Export file').setInputFiles(file(exported))
  await page.getByText('Read-only').first().waitFor()
  await page.getByText('You have your money back.').first().waitFor()
  await expect.poll(() => transcript(page)).toEqual(await transcript(live))
  await page.getByRole('option').first().waitFor()
  await page.getByRole('tab', { name: 'Model calls' }).click()
  await page.getByRole('figure', { name: 'Token budget' }).waitFor()
  await page.getByRole('button', { name: 'One event back' }).click()
  await page.getByText(/As it was after event \d+/).waitFor()
  expect(await page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0)
  // It is the whole studio, without what only a server can do.
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Export', exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Fork', exact: true }).count()).toBe(0)
  await page.keyboard.press('Escape')
  const rail = page.getByRole('navigation', { name: 'Pages' })
  const pages = await rail.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('title')))
  expect(pages).toEqual(['Conversations', 'Flows'])
  await rail.getByRole('link', { name: 'Conversations' }).click()
  await page.getByText('You have your money back.').filter({ visible: true }).first().waitFor()
  await rail.getByRole('button', { name: /Search/ }).click()
  await page.getByRole('combobox', { name: 'Title or id' }).fill('exported')
  await page
    .getByRole('option', { name: /exported/ })
    .first()
    .click()
  await page.waitForURL(/\/studio\/open\/conversations\/exported/)
  await page.keyboard.press('3')
  await page.getByRole('link', { name: /parcel-1/ }).click()
  await page.getByText('waiting').first().waitFor()
  expect(await page.getByRole('button', { name: /Fork|Resume|Answer/ }).count()).toBe(0)
})

studioTest('what a person exports opens as a file, with the same transcript, prompts and files', async () => {
  const ticket = conversation('saved')
  await ticket.outcome((await ticket.send('Please refund o-17')).turnId)
  const [call] = (await ticket.view()).pending
  await ticket.approve(call!.callId)
  await untilIdle(ticket)
  const live = await studio.open('/conversations/saved')
  await live.getByText('You have your money back.').first().waitFor()
  await live.getByRole('button', { name: 'More' }).click()
  const saving = live.waitForEvent('download')
  await live.getByRole('button', { name: 'Export', exact: true }).click()
  const path = await (await saving).path()
  const page = await studio.open('/open', { expected: [/ERR_INTERNET_DISCONNECTED/] })
  await page.getByRole('heading', { name: 'Open an export' }).waitFor()
  await page.context().setOffline(true)
  const empty = { name: 'empty.jsonl', mimeType: 'application/x-ndjson' }
  const header = Buffer.from('{"format":"perdure.export","version":1}\n{"line":"end"}\n')
  await page.getByLabel('Export file').setInputFiles({ ...empty, buffer: header })
  await page.getByRole('alert').getByText('It has no conversation').waitFor()
  await drop(page, readFileSync(path, 'utf8'))
  await page.getByText('You have your money back.').first().waitFor()
  await expect.poll(() => transcript(page)).toEqual(await transcript(live))
  await page.getByRole('tab', { name: 'Model calls' }).click()
  await page.getByRole('figure', { name: 'Token budget' }).waitFor()
})

/** As a person drops a file from their desk. */
async function drop(page: Page, text: string): Promise<void> {
  const dataTransfer = await page.evaluateHandle((content) => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([content], 'saved.jsonl', { type: 'application/x-ndjson' }))
    return transfer
  }, text)
  await page.locator('main').dispatchEvent('drop', { dataTransfer })
}
