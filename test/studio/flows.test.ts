import { defineAgent, defineFlow } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'

const visit = defineFlow({
  name: 'visit',
  version: 1,
  run: async (flow) => {
    const day = await flow.step('look at the calendar', {}, () => 'Monday')
    const answer = await flow.suspend(
      { question: `How many come on ${day}?`, room: 'blue' },
      { schema: z.object({ guests: z.number().int().min(1).max(8), note: z.string().optional() }) },
    )
    return flow.step('book', {}, () => `table for ${answer.guests} on ${day}`)
  },
})
const even = defineFlow({
  name: 'even',
  version: 1,
  run: (flow) =>
    flow.suspend('An even number?', { schema: z.number().refine((given) => given % 2 === 0, 'must be even') }),
})
const free = defineFlow({ name: 'free', version: 1, run: (flow) => flow.suspend('Anything?') })

const studio = openStudio({
  agents: [defineAgent({ name: 'support', model: scriptedModel(() => 'Hello.') })],
  flows: [visit, even, free],
})

studioTest('a session is resumed on its page, and a value that does not fit is refused', async () => {
  const client = studio.client()
  await client.flow('visit', 'v-1').start()
  const page = await studio.open('/flows/visit/v-1')
  await page.getByRole('heading', { name: 'How many come on Monday?' }).waitFor()
  await page.getByText('blue').waitFor()

  const guests = page.getByRole('textbox', { name: /guests/ }).or(page.getByRole('spinbutton', { name: /guests/ }))
  await guests.fill('12')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Not sent: some fields do not fit.').waitFor()
  expect(await client.flow('visit', 'v-1').status()).toMatchObject({ status: 'waiting' })

  await guests.fill('4')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('table for 4 on Monday').first().waitFor()
  await page.locator('header').getByText('done').waitFor()
  await page.getByText('Answered by ann: Asks: How many come on Monday?').waitFor()
  expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0)
})

studioTest('what only the server can refuse is said, and what was typed stays', async () => {
  const client = studio.client()
  await client.flow('even', 'e-1').start()
  const page = await studio.open('/flows/even/e-1', { expected: [/status of 4\d\d/] })
  const field = page.getByRole('textbox', { name: /Answer/ }).or(page.getByRole('spinbutton', { name: /Answer/ }))
  await field.fill('3')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('alert').filter({ hasText: 'must be even' }).waitFor()
  expect(await field.inputValue()).toBe('3')
  expect(await client.flow('even', 'e-1').status()).toMatchObject({ status: 'waiting' })
  await field.fill('4')
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(async () => (await client.flow('even', 'e-1').status()).status).toBe('done')
})

studioTest('without a schema the answer is JSON, and there is no other form to choose', async () => {
  const client = studio.client()
  await client.flow('free', 'f-1').start()
  const page = await studio.open('/flows/free/f-1')
  await page.getByRole('textbox', { name: /Answer/ }).fill('"from the page"')
  expect(await page.getByRole('button', { name: 'JSON' }).count()).toBe(0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(async () => (await client.flow('free', 'f-1').status()).status).toBe('done')
})

studioTest('a session is forked at an event, waits as a copy until it is continued, and ends otherwise', async () => {
  const client = studio.client()
  await client.flow('visit', 'v-2').start()
  await client.flow('visit', 'v-2').resume({ guests: 2 })
  const page = await studio.open('/flows/visit/v-2?event=3')
  await page.getByRole('button', { name: 'Fork from here' }).click()
  const dialog = page.getByRole('dialog', { name: 'Fork this session at event 3' })
  await dialog.getByRole('textbox', { name: 'Id of the copy' }).fill('v-2-copy')
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await page.waitForURL('**/flows/visit/v-2-copy')
  await page.locator('header').getByText('dormant').waitFor()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'How many come on Monday?' }).waitFor()
  await page.locator('header').getByText('waiting').waitFor()
  await page
    .getByRole('textbox', { name: /guests/ })
    .or(page.getByRole('spinbutton', { name: /guests/ }))
    .fill('7')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('table for 7 on Monday').first().waitFor()
  expect(await client.flow('visit', 'v-2').status()).toMatchObject({ result: 'table for 2 on Monday' })
})

studioTest('an answer that came too late says who was first, and the session goes on with that one', async () => {
  const client = studio.client()
  await client.flow('free', 'f-late').start()
  const page = await studio.open('/flows/free/f-late', { expected: [/status of 409/] })
  await page.getByRole('textbox', { name: /Answer/ }).fill('"mine"')
  await page.route('**/resume', async (route) => {
    // The page does not hear of it before its own answer is refused.
    await studio.client('bob').flow('free', 'f-late').resume('of bob')
    await route.continue()
  })
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText(/^Not sent: another answer came first, by bob (just now|\d+ s ago)\.$/).waitFor()
  expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0)
  expect(await client.flow('free', 'f-late').status()).toMatchObject({ status: 'done', result: 'of bob' })
})

studioTest('the filter of the list is in the address, and survives a reload', async () => {
  const client = studio.client()
  await client.flow('visit', 'v-3').start()
  await client.flow('free', 'f-3').start()
  const page = await studio.open('/flows')
  await page.getByRole('link', { name: /v-3/ }).waitFor()
  await page.getByRole('combobox', { name: 'Flow' }).selectOption('free')
  await page.getByRole('combobox', { name: 'Status' }).selectOption('waiting')
  await page.waitForURL('**/flows?flow=free&status=waiting')
  await expect.poll(() => page.getByRole('link', { name: /v-3/ }).count()).toBe(0)
  await page.reload()
  await page.getByRole('link', { name: /f-3/ }).waitFor()
  expect(await page.getByRole('combobox', { name: 'Flow' }).inputValue()).toBe('free')
  expect(await page.getByRole('link', { name: /v-3/ }).count()).toBe(0)

  // A session that no longer matches leaves, live.
  await client.flow('free', 'f-3').resume('done')
  await expect.poll(() => page.getByRole('link', { name: /f-3/ }).count()).toBe(0)
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed')
  await page.getByRole('button', { name: 'Show all sessions' }).click()
  await page.getByRole('link', { name: /v-3/ }).waitFor()
  await page.waitForURL('**/flows')
})
