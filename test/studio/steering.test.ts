import { defineAgent, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'
import { looked } from './settled.ts'

const mail = defineTool({
  name: 'mail',
  description: 'Write to the supplier',
  input: z.object({ to: z.string() }),
  approval: 'required',
  describe: ({ to }) => `Write to ${to}`,
  expiresInMs: 3_600_000,
  run: () => 'sent',
})
const colleague = defineAgent({
  name: 'colleague',
  tools: [mail],
  model: scriptedModel(({ prompt }) =>
    prompt.at(-1)!.role === 'tool'
      ? 'The supplier knows.'
      : { calls: [{ tool: 'mail', args: { to: 'the supplier' } }] },
  ),
})
const research = defineTool({
  name: 'research',
  description: 'Ask a colleague',
  input: z.object({ question: z.string() }),
  executor: 'agent',
  agent: colleague,
})
/** Streams for longer than any test: it is interrupted. */
const endless = Array.from({ length: 20_000 }, (_, n) => `w${n} `)
/** Until then the model says nothing to `hold`. */
const held = Promise.withResolvers<void>()
const support = defineAgent({
  name: 'support',
  tools: [mail, research],
  model: scriptedModel(async ({ prompt }) => {
    const last = prompt.at(-1)!
    const said = JSON.stringify(last)
    if (last.role === 'tool') return 'All is done.'
    if (said.includes('research')) return { calls: [{ tool: 'research', args: { question: 'Which lamps?' } }] }
    if (said.includes('mail')) return { calls: [{ tool: 'mail', args: { to: 'ann' } }] }
    if (said.includes('count')) return { text: endless, delayMs: 20 }
    if (said.includes('hold')) await held.promise
    return `Heard: ${/"text":"([^"]*)"/.exec(said)?.[1] ?? ''}`
  }),
})
const studio = openStudio({ agents: [support], flows: [] })

async function say(id: string, text: string) {
  const conversation = studio.client().conversation(id, { agent: 'support' })
  const { turnId } = await conversation.send(text)
  return conversation.outcome(turnId)
}

const open = async (path: string, expected: RegExp[] = []): Promise<Page> => {
  const page = await studio.open(path, { expected })
  return page
}
const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' })
const transcript = (page: Page) => page.getByRole('log', { name: 'Transcript' })

studioTest('the card of a child that waits is open, and its question is answered there', async () => {
  await say('parent', 'Please research')
  const page = await open('/conversations/parent')
  const article = page.getByRole('article', { name: 'Message from support' })
  await article.getByText('Write to the supplier').waitFor()
  await article.getByRole('button', { name: 'Answer here' }).click()
  await article.getByRole('button', { name: 'Approve' }).waitFor()
  await looked(page)
  await article.getByRole('button', { name: 'Approve' }).click()
  await transcript(page).getByText('All is done.').waitFor()
  // Its transcript stands within that of its parent, under its own name.
  const card = transcript(page).getByRole('button', { name: /^research/ })
  if ((await card.getAttribute('aria-expanded')) === 'false') await card.click()
  await page.getByRole('button', { name: 'Show the child agent' }).click()
  await page.getByRole('article', { name: 'Message from colleague' }).getByText('The supplier knows.').waitFor()
  await page.getByRole('link', { name: 'Open its conversation' }).click()
  await page.getByText('Child agent of').waitFor()
  expect(await composer(page).getAttribute('placeholder')).toBe(
    'Read-only: only its parent sends messages to a child agent.',
  )
  expect(await composer(page).isDisabled()).toBe(true)
  await page.goto(`${studio.url}/studio/conversations`)
  await page.getByRole('link', { name: /child of parent/ }).waitFor()
})

studioTest('while a turn is open a message waits for its end, takes its place, or is refused', async () => {
  await say('busy', 'Hello')
  const page = await open('/conversations/busy', [/status of 409/])
  const begin = async (text: string): Promise<void> => {
    await composer(page).fill(text)
    await composer(page).press('Control+Enter')
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
  }
  const send = async (mode: string, text: string): Promise<void> => {
    await page.getByLabel('While a turn is open, send').selectOption(mode)
    await composer(page).fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
  }
  await begin('hold')
  await send('reject', 'refused words')
  await page.getByRole('alert').getByText('Not sent.').waitFor()
  expect(await composer(page).inputValue()).toBe('refused words')
  await send('queue', 'later words')
  await transcript(page).getByText('queued', { exact: true }).waitFor()
  held.resolve()
  await transcript(page).getByText('Heard: later words').waitFor()
  await begin('count')
  await transcript(page).getByText('w3 ').waitFor()
  await send('interrupt', 'instead words')
  await transcript(page).getByText('Heard: instead words').waitFor()
  await transcript(page)
    .getByText(/Cancelled/)
    .waitFor()
  const view = await studio.client().conversation('busy').view()
  const said = view.messages.filter(({ role }) => role === 'user').map((message) => JSON.stringify(message.parts))
  expect(said.filter((text) => text.includes('refused words'))).toEqual([])
  expect(said.filter((text) => text.includes('later words'))).toHaveLength(1)
})

studioTest('a deadline is moved in the conversation', async () => {
  await say('extended', 'mail please')
  const page = await open('/conversations/extended')
  await page.getByText(/expires in 59 m/).waitFor()
  await looked(page)
  await page.getByLabel('Extend the deadline').selectOption('by a day')
  await page.getByText(/expires in 1 d/).waitFor()
  const [item] = (await studio.client().conversation('extended').view()).pending
  expect(item!.expiresAt! - Date.now()).toBeGreaterThan(24 * 3_600_000)
  await looked(page)
  await page.getByLabel('Extend the deadline').selectOption('without an end')
  await expect.poll(() => page.getByText(/expires in/).count()).toBe(0)
})

studioTest('an answer that came too late says who answered first, and when', async () => {
  const outcome = await say('late', 'mail please')
  if (outcome.status !== 'waiting') throw new Error(outcome.status)
  const { callId, round } = outcome.pending[0]!
  const page = await open('/conversations/late')
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await page.route('**/approve', async (route) => {
    // The page does not hear of it before its own answer is refused.
    await studio.client('bob').conversation('late').approve({ callId, round })
    await route.continue()
  })
  await looked(page)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText(/^Another answer came first: it was approved by bob (just now|\d+ s ago)\.$/).waitFor()
  await transcript(page).getByText('All is done.').waitFor()
})

studioTest('a call that was denied says so, and by whom: it has not failed', async () => {
  const outcome = await say('denied', 'mail please')
  if (outcome.status !== 'waiting') throw new Error(outcome.status)
  const talk = studio.client('bob').conversation('denied')
  await talk.deny({ callId: outcome.pending[0]!.callId, round: 1 }, { reason: 'not now' })
  const page = await open('/conversations/denied')
  await transcript(page).getByText('All is done.').waitFor()
  const card = transcript(page).getByRole('button', { name: /^mail/ })
  expect(await card.textContent()).toMatch(/denied$/)
  await transcript(page).getByText('Denied by bob').waitFor()
  await transcript(page).getByText('tool call denied: not now').waitFor()
})
