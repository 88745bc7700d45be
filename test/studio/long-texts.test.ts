import { createScope, defineAgent, defineFlow, defineTool, type Scope } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Locator } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { z } from 'zod'
import { openExport } from './open-export.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { settled } from './settled.ts'
import { tooWide } from './too-wide.ts'

const prose =
  'The customer bought a reading lamp with an adjustable arm in the autumn sale and asks where the money is. '
const word = 'customer-support-escalations-for-the-european-market'
const solid = 'W'.repeat(180)
const owner = 'maximiliane.featherstonehaugh@customer-support.example.com'

const transfer = defineTool({
  name: 'transfer_money_between_accounts_of_the_same_owner',
  description: prose,
  input: z.object({ amount: z.object({ value: z.number() }), why: z.string(), lines: z.array(z.string()) }),
  approval: 'required',
  describe: () => `Transfer 1,250,000.50 EUR to an account that was opened yesterday. ${prose}`,
  expiresInMs: 3_600_000,
  run: () => 'done',
})
const table = `| product | price | remarks |\n|---|---:|---|\n| lamp | 1,249.00 | ${prose.repeat(3)} |\n| ${solid} | 0 | none |`
const model = scriptedModel(({ prompt }) => {
  const said = JSON.stringify(prompt.at(-1))
  if (said.includes('table')) return table
  if (said.includes('break')) return { error: { status: 400, message: `${prose} ${solid}` } }
  const args = { amount: { value: 1_250_000.5 }, why: prose.repeat(3), lines: [solid, word] }
  return { text: `${prose} ${solid}`, reasoning: solid, calls: [{ tool: transfer.name, args }] }
})
const onboarding = defineFlow({
  name: `onboarding-of-${word}`,
  version: 1,
  input: z.object({}),
  run: async (flow) => {
    await flow.step(prose, { input: solid }, () => solid)
    return flow.suspend({ question: `${prose} ${solid}` }, { schema: z.object({ comment: z.string() }) })
  },
})
const studio = openStudio({
  agents: [defineAgent({ name: word, model, tools: [transfer], audit: 'full' })],
  flows: [onboarding],
})

beforeAll(async () => {
  if (!studio.runtime) return
  const person = studio.runtime.as(createScope({ user: owner }) as Scope)
  const say = async (id: string, text: string): Promise<void> => {
    await (await person.conversation(id, { agent: word }).send(text)).outcome()
  }
  await say('asks', solid)
  await say('titled', 'a table')
  await say('titled', 'break')
  await person.conversation('titled').rename(prose)
  await person.flow(onboarding.name, `session-${word}`).start({})
  await studio.runtime.pause({ agent: word }, { who: owner, reason: `${prose} ${solid}` })
})

const session = `/flows/${onboarding.name}/session-${word}`
const tabs = ['timeline', 'log&event=3', 'state', 'calls', 'forks']
const ofConversations = ['asks', 'titled'].flatMap((id) => tabs.map((tab) => `/conversations/${id}?tab=${tab}`))

studioTest('long texts make no page scroll sideways at the width of a phone', async () => {
  const page = await studio.open('/inbox', { width: 390 })
  const wide: string[] = []
  const look = async (what: string): Promise<void> => {
    await settled(page)
    wide.push(...(await tooWide(page)).map((element) => `${what}: ${element}`))
  }
  for (const path of [
    ...['/inbox', '/conversations', '/conversations/asks', '/conversations/titled', ...ofConversations],
    ...['/flows', session, `${session}?event=3`, '/health'],
  ]) {
    await page.goto(`${studio.url}/studio${path}`)
    await look(path)
  }
  await page.goto(`${studio.url}/studio/inbox`)
  for (const words of [/^Transfer/, /^The customer/]) {
    await page.getByRole('list', { name: 'Waiting' }).getByText(words).first().tap()
    await page.getByRole('heading', { level: 2, name: words }).waitFor()
    await look(`the question ${words}`)
    await page.goBack()
  }
  await page.goto(`${studio.url}/studio/open/conversations/asks`)
  await openExport(page, studio.url)
  await look('a file')
  expect(wide).toEqual([])
})

const heightOf = async (element: Locator): Promise<number> => (await element.boundingBox())!.height

studioTest(
  'a long title leaves the header of its conversation one line high, and a table its words whole',
  async () => {
    const page = await studio.open('/conversations/titled')
    const region = page.getByRole('region', { name: 'Conversation' })
    await region.getByRole('columnheader', { name: 'product' }).waitFor()
    expect(await heightOf(region.locator('header').first())).toBeLessThan(50)
    expect(await heightOf(region.getByRole('button', { name: 'titled', exact: true }))).toBeLessThan(30)
    for (const words of ['product', 'price', 'remarks'])
      expect(await heightOf(region.getByRole('columnheader', { name: words })), words).toBeLessThan(40)
    const price = region.getByRole('cell', { name: '1,249.00' })
    const lines = await price.evaluate((cell) => {
      const range = document.createRange()
      range.selectNodeContents(cell)
      return { count: range.getClientRects().length, align: getComputedStyle(cell).textAlign }
    })
    expect(lines).toEqual({ count: 1, align: 'right' })
  },
)

studioTest('on a phone long names leave every button its size, and what goes back beside what it leaves', async () => {
  const page = await studio.open('/inbox', { width: 390 })
  await page
    .getByRole('list', { name: 'Waiting' })
    .getByText(/^Transfer/)
    .first()
    .tap()
  const back = page.getByRole('link', { name: 'Back to the list' })
  await back.waitFor()
  expect((await back.boundingBox())!.width).toBe(44)
  // The members of a group say that they are as the model asked, and not the group besides.
  expect(await page.getByText('as the model asked').count()).toBe(4)

  await page.goto(`${studio.url}/studio${session}`)
  const [link, title] = [page.getByRole('link', { name: 'All sessions' }), page.getByRole('heading', { level: 1 })]
  const [left, right] = [(await link.boundingBox())!, (await title.boundingBox())!]
  expect(right.x).toBeGreaterThanOrEqual(left.x + left.width)
  expect(right.y).toBeGreaterThanOrEqual(left.y)
  expect(right.y + right.height).toBeLessThanOrEqual(left.y + left.height)

  await page.goto(`${studio.url}/studio/flows`)
  const choices = await Promise.all(
    ['Flow', 'Status'].map((name) => page.getByRole('combobox', { name }).boundingBox()),
  )
  expect(choices[0]!.y).toBe(choices[1]!.y)

  // Where nothing can be sent there is nothing to choose about it.
  await page.goto(`${studio.url}/studio/open/conversations/asks`)
  await openExport(page, studio.url)
  await page.getByPlaceholder('This is a file. Nothing can be sent.').waitFor()
  expect(await page.getByLabel('While a turn is open, send').count()).toBe(0)
  const send = (await page.getByRole('button', { name: 'Send' }).boundingBox())!
  expect(send.width).toBeGreaterThan(send.height)
})
