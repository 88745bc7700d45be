import { defineAgent, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'
import { looked, settled } from './settled.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), note: z.string().optional() }),
  approval: 'required',
  describe: ({ orderId }) => `Refund ${orderId}`,
  run: () => 'paid',
})
const colour = defineTool({
  name: 'ask_colour',
  description: 'Ask for a colour',
  executor: 'human',
  input: z.object({ lamp: z.string() }),
  prompt: ({ lamp }) => `Which colour for ${lamp}?`,
  output: z.object({ colour: z.enum(['red', 'green']) }),
})
const support = defineAgent({
  name: 'support',
  tools: [refund, colour],
  model: scriptedModel(({ prompt }) => {
    const said = JSON.stringify(prompt.at(-1))
    if (prompt.at(-1)!.role === 'tool') return `Done: ${said.includes('green') ? 'green' : 'something'}.`
    if (said.includes('break')) return { error: { status: 400, message: 'broken' } }
    const lamp = /colour of (\w+)/.exec(said)?.[1]
    if (lamp) return { calls: [{ tool: 'ask_colour', args: { lamp } }] }
    if (said.includes('refund')) return { calls: [{ tool: 'refund', args: { orderId: 'o-1', note: 'x' } }] }
    const text = 'Done. **Anything else?** See [the page](https://example.com/).'
    return { text, usage: { inputTokens: 12_000, outputTokens: 345 } }
  }),
})
const studio = openStudio({ agents: [support], flows: [] })

async function say(tenant: string, id: string, text: string): Promise<void> {
  const conversation = studio.client('ann', tenant).conversation(id, { agent: 'support' })
  const { turnId } = await conversation.send(text)
  await conversation.outcome(turnId)
}

studioTest('a filter counts when typing pauses, also while the list changes all the time', async () => {
  await say('busy', 'calm', 'Hello')
  const page = await studio.open('/conversations', { tenant: 'busy' })
  await page.getByRole('link', { name: /calm/ }).waitFor()
  let isOver = false
  const noise = (async () => {
    for (let n = 0; !isOver; n += 1) await say('busy', `noise-${n % 4}`, 'Hello')
  })()
  try {
    await page.getByRole('link', { name: /noise-3/ }).waitFor()
    await page.getByLabel('Search titles and ids').fill('calm')
    await page.waitForURL('**/conversations?text=calm')
  } finally {
    isOver = true
    await noise
  }
  await expect.poll(() => page.getByRole('link', { name: /noise/ }).count()).toBe(0)
})

studioTest('a row says what was said in plain words, what it took, and that a turn had no answer', async () => {
  await say('words', 'answered', 'Hello')
  await say('words', 'broken', 'Please break')
  const page = await studio.open('/conversations', { tenant: 'words' })
  const row = (name: string) => page.getByRole('link', { name: new RegExp(name) })
  await expect.poll(() => row('answered').textContent()).toContain('Done. Anything else? See the page.')
  expect(await row('answered').textContent()).toContain('idle')
  expect(await row('answered').getByTitle('tokens').textContent()).toBe('12,345')
  expect(await row('broken').textContent()).toContain('no answer')
  await page.getByText('Conversation and newest message').waitFor()
  // The headings stand above their columns, and above no row.
  const [heading, agent, first] = await Promise.all([
    page.getByText('Agent', { exact: true }).boundingBox(),
    row('broken').getByText('support').boundingBox(),
    page.getByRole('list', { name: 'Conversations' }).getByRole('listitem').first().boundingBox(),
  ])
  expect(heading!.x).toBe(agent!.x)
  expect(first!.y).toBeGreaterThanOrEqual(heading!.y + heading!.height)
})

studioTest('nothing in a row of the inbox moves under the pointer, and changes stand in one column', async () => {
  await say('still', 's-1', 'refund please')
  const page = await studio.open('/inbox', { tenant: 'still' })
  const words = page.getByRole('list', { name: 'Waiting' }).getByText('Refund o-1')
  await words.waitFor()
  await settled(page)
  const before = await words.boundingBox()
  await words.hover()
  expect(await words.boundingBox()).toEqual(before)
  expect(
    await page.getByLabel('Select Refund o-1').evaluate((box) => getComputedStyle(box.parentElement!).opacity),
  ).toBe('1')
  const marks = await page
    .getByText('as the model asked')
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x))
  expect(marks).toHaveLength(2)
  expect(new Set(marks).size).toBe(1)
})

studioTest(
  'the theme is the one that was chosen, also after a reload, until it is the one of the system again',
  async () => {
    const page = await studio.open('/inbox', { tenant: 'theme' })
    const dark = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)
    await page.getByRole('button', { name: 'System theme' }).click()
    await page.getByRole('button', { name: 'Light theme' }).click()
    await page.getByRole('button', { name: 'Dark theme' }).waitFor()
    expect(await dark()).toBe('dark')
    await page.reload()
    await page.getByRole('button', { name: 'Dark theme' }).waitFor()
    expect(await dark()).toBe('dark')
    await page.getByRole('button', { name: 'Dark theme' }).click()
    await page.getByRole('button', { name: 'System theme' }).waitFor()
    expect(await dark()).toBe('light dark')
  },
)

studioTest(
  'an address finds its item behind the first page of the inbox, and also where a filter leaves it out',
  async () => {
    await say('behind', 'oldest', 'Ask for the colour of oldest')
    await Promise.all(Array.from({ length: 104 }, (_, n) => say('behind', `b-${n}`, 'refund please')))
    const [oldest] = (await studio.client('ann', 'behind').conversation('oldest').view()).pending
    const page = await studio.open(`/inbox/${oldest!.callId}`, { tenant: 'behind' })
    await page.getByRole('heading', { name: 'Which colour for oldest?' }).waitFor()
    await page.goto(`${studio.url}/studio/inbox/${oldest!.callId}?text=o-1`)
    await page.getByRole('heading', { name: 'Which colour for oldest?' }).waitFor()
    expect(await page.getByRole('list', { name: 'Waiting' }).getByText('oldest').count()).toBe(0)
    // What is on no page is said to be on none.
    await page.goto(`${studio.url}/studio/inbox/none`)
    await page.getByText('This is not waiting for an answer.').waitFor()
    await page.goto(`${studio.url}/studio/inbox?text=oldest`)
    for (const count of [50, 100]) {
      await page.getByText(`None of the ${count} newest matches the filter.`).waitFor()
      await page.getByRole('button', { name: 'Show more' }).click()
    }
    await page.getByRole('list', { name: 'Waiting' }).getByText('Which colour for oldest?').waitFor()
  },
)

studioTest('questions of one human tool are answered together', async () => {
  for (const lamp of ['desk', 'floor']) await say('together', `t-${lamp}`, `Ask for the colour of ${lamp}`)
  const page = await studio.open('/inbox', { tenant: 'together' })
  await page.getByRole('list', { name: 'Waiting' }).getByText('Which colour for floor?').waitFor()
  await page.keyboard.press('*')
  await page.getByRole('heading', { name: '2 selected' }).waitFor()
  await page.getByText('green').click()
  await looked(page)
  await page.getByRole('button', { name: 'Send to all' }).click()
  await page.getByText('2 of 2 accepted').waitFor()
  for (const lamp of ['desk', 'floor']) {
    const events = await studio.client('ann', 'together').conversation(`t-${lamp}`).events()
    const given = events.flatMap((event) => (event.type === 'resolution' ? [event.content] : []))
    expect(given).toMatchObject([{ who: 'ann', value: { colour: 'green' } }])
  }
})

studioTest('dialogs come in 120 ms, and at once where the system asks for less motion', async () => {
  const page = await studio.open('/inbox', { tenant: 'motion' })
  await page.getByRole('heading', { name: 'Nothing is waiting.' }).waitFor()
  await page.keyboard.press('?')
  const duration = () => page.locator('dialog[open]').evaluate((dialog) => getComputedStyle(dialog).transitionDuration)
  expect(await duration()).toBe('0s')
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  expect(await duration()).toBe('0.12s')
})
