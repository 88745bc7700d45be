import { createScope, defineAgent, defineFlow, defineTool, type Scope } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { openExport } from './open-export.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { settled } from './settled.ts'

/** Turns the text after it around, has no width, and would be obeyed by a terminal. */
const turning = '\u202eexe.\u200b\u2066x'
const marks = `${turning}\u001b[31m<img src=x onerror="globalThis.taken = 1">`
const long = `long${'x'.repeat(900_000)}`
const line = `line${'y'.repeat(5_000_000)}`

const refund = defineTool({
  name: 'refund',
  description: marks,
  input: { type: 'object', properties: { note: { type: 'string', title: marks, description: marks } } },
  approval: 'required',
  prompt: () => `Pay ${marks}?`,
  describe: () => `Refund ${marks}`,
  run: () => ({ paid: marks }),
})
const model = scriptedModel(
  ({ prompt }) => {
    const last = JSON.stringify(prompt.at(-1))
    if (last.includes('refund')) return { reasoning: marks, calls: [{ tool: 'refund', args: { note: marks } }] }
    if (last.includes('broken')) return { error: { status: 400, message: marks } }
    return last.includes('a line') ? line : `Heard ${marks}`
  },
  { provider: marks, modelId: marks },
)
const ask = defineFlow({
  name: 'ask',
  version: 1,
  input: { type: 'object' },
  run: async (flow, input) => {
    await flow.step(`step ${marks}`, { input: marks }, () => ((input as { isLong?: boolean }).isLong ? long : marks))
    if ((input as { fails?: boolean }).fails) throw new Error(marks)
    return flow.suspend({ question: `Which ${marks}?`, [marks]: marks })
  },
})

const studio = openStudio({
  agents: [defineAgent({ name: 'support', model, tools: [refund], audit: 'full' })],
  flows: [ask],
})
// An id has no control characters.
const id = `c-${turning}`
const person = `eve${turning}`

beforeAll(async () => {
  const eve = studio.runtime!.as(createScope({ user: person }) as Scope)
  const talk = eve.conversation(id, { agent: 'support' })
  await (await talk.send(`hello ${marks}`)).outcome()
  await (await talk.send('broken')).outcome()
  await (await talk.send('refund')).outcome()
  await talk.approve((await talk.view()).pending[0]!.callId)
  await talk.outcome()
  await talk.rename(`Title ${marks}`)
  await talk.fork({ at: 2, id: `fork-${turning}` })
  await (await eve.conversation('waits', { agent: 'support' }).send('refund')).outcome()
  await eve.flow('ask', `s-${turning}`).start({ note: marks })
  await eve.flow('ask', 'failed').start({ fails: true })
  await eve.flow('ask', 'long').start({ isLong: true })
})

const of = encodeURIComponent(id)
const pages = [
  '/inbox',
  '/conversations',
  `/conversations/${of}`,
  ...['timeline', 'log&event=2', 'state', 'calls', 'forks'].map((tab) => `/conversations/${of}?tab=${tab}`),
  `/conversations/${of}?at=3`,
  `/conversations/none-${of}`,
  '/flows',
  `/flows/ask/${encodeURIComponent(`s-${turning}`)}?event=2`,
  '/flows/ask/failed',
  `/flows/${of}/none-${of}`,
  '/health',
]

studioTest(
  'no page runs markup, or shows a character that turns text around or hides, whatever field it is in',
  async () => {
    const page = await studio.open('/inbox', { expected: [/status of 404/] })
    const found: string[] = []
    for (const path of pages) {
      await page.goto(`${studio.url}/studio${path}`)
      await settled(page)
      found.push(...(await raw(page)).map((text) => `${path}: ${text}`))
    }
    for (const path of pages.filter((page) => /^.(conversations|flows)/.test(page) && !page.includes('none-'))) {
      await page.goto(`${studio.url}/studio/open${path}`)
      await openExport(page, studio.url)
      await settled(page)
      found.push(...(await raw(page)).map((text) => `a file at ${path}: ${text}`))
    }
    await page.goto(`${studio.url}/studio/conversations/fork-${encodeURIComponent(turning)}`)
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('button', { name: 'Delete…' }).click()
    found.push(...(await raw(page)).map((text) => `deletion: ${text}`))
    // What cannot be typed is typed as it is shown.
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill((await dialog.locator('code').textContent())!)
    expect(await dialog.getByRole('button', { name: 'Delete' }).isEnabled()).toBe(true)
    await page.goto(`${studio.url}/studio/health`)
    await settled(page)
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: 'Title or id' }).fill('c-')
    await page.getByRole('option').first().waitFor()
    found.push(...(await raw(page)).map((text) => `search: ${text}`))
    expect(found).toEqual([])
  },
)

/** The texts of a page, its title and the names of its elements that have such a character, and what became an element of its own. */
function raw(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const names = [...document.querySelectorAll('[title], [aria-label]')].map(
      (element) => `${element.getAttribute('title') ?? ''} ${element.getAttribute('aria-label') ?? ''}`,
    )
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts: string[] = [document.title, ...names]
    while (walker.nextNode())
      if (!walker.currentNode.parentElement!.closest('script, textarea')) texts.push(walker.currentNode.nodeValue!)
    const made = [...document.querySelectorAll('[onerror], img[src=x]')].map((element) => element.outerHTML)
    const ran = Reflect.has(globalThis, 'taken') ? ['something ran'] : []
    const shown = texts
      .filter((text) => /\p{Bidi_Control}|\u200b|(?![\n\t\r])\p{Cc}/u.test(text))
      .map((text) => JSON.stringify(text.slice(0, 100)))
    return [...shown, ...made, ...ran]
  })
}

studioTest('of a value of 900,000 characters a session shows the beginning, and stays usable', async () => {
  const page = await studio.open('/flows/ask/long?event=2')
  await page.getByRole('button', { name: 'Show all 900,004 characters' }).waitFor()
  expect((await page.locator('body').textContent())!.length).toBeLessThan(50_000)
  await page.getByRole('button', { name: 'Fork', exact: true }).click()
  await page.getByRole('dialog', { name: 'Fork this session at event 2' }).waitFor()
})

studioTest('a line of five million characters that streams in leaves the page usable', async () => {
  const page = await studio.open('/conversations/five')
  const talk = studio.runtime!.as(createScope({ user: 'ann' }) as Scope).conversation('five', { agent: 'support' })
  await (await talk.send('hello')).outcome()
  await page.reload()
  await page.getByText('hello', { exact: true }).first().waitFor()
  // More than an event may have, so the turn fails; until then it is on screen.
  await (await talk.send('a line, please')).outcome()
  await page
    .getByText(/event_too_large/)
    .first()
    .waitFor()
  expect((await page.locator('body').textContent())!.length).toBeLessThan(200_000)
  await page.getByRole('textbox', { name: /Message/ }).fill('Still here')
  await page.keyboard.press('Enter')
  await page.getByText('Still here').first().waitFor()
})
