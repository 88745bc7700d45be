import { defineAgent, defineFlow, defineTool } from 'perdure'
import type { LogEvent } from 'perdure/client'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'
import { looked, withoutTime } from './settled.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string().min(3), cents: z.number().int().max(9_999), note: z.string().optional() }),
  approval: 'required',
  describe: ({ orderId, cents }) => `Refund ${(cents / 100).toFixed(2)} EUR for order ${orderId}`,
  expiresInMs: 7 * 24 * 3_600_000,
  run: ({ cents }) => ({ paid: cents }),
})
const address = defineTool({
  name: 'ask_address',
  description: 'Ask for an address',
  executor: 'human',
  input: z.object({ why: z.string() }),
  prompt: 'Where should the lamp go?',
  output: z.object({
    street: z.string().min(1),
    floor: z.number().int(),
    express: z.boolean(),
    carrier: z.enum(['post', 'courier']),
    tags: z.array(z.string()).optional(),
  }),
})
const label = defineTool({
  name: 'print_label',
  description: 'Print a label on the page',
  executor: 'client',
  input: z.object({ text: z.string() }),
  approval: 'required',
  describe: ({ text }) => `Print ${text}`,
  output: z.string(),
})
const anything = defineTool({
  name: 'anything',
  description: 'Anything',
  input: z.record(z.string(), z.unknown()),
  approval: 'required',
  prompt: (args) => String((args as { prompt?: string }).prompt),
  run: () => 'done',
})

/** Calls the tool that the message names. */
const support = defineAgent({
  name: 'support',
  tools: [refund, address, label, anything],
  model: scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    if (last.role !== 'user') return 'Done.'
    const [part] = last.content
    const { tool, args } = JSON.parse(part?.type === 'text' ? part.text : '') as { tool: string; args: object }
    return { text: 'One moment.', calls: [{ tool, args }] }
  }),
})
const returns = defineFlow({
  name: 'return',
  version: 1,
  input: z.object({ orderId: z.string() }),
  run: (flow, { orderId }) =>
    flow.suspend({ question: `Has ${orderId} arrived?` }, { schema: z.object({ ok: z.boolean() }) }),
})

const studio = openStudio({ agents: [support], flows: [returns] })
const wide = 1_440

/** Each story has a tenant of its own, so that its inbox has nothing of the others. */
function story(tenant: string) {
  const as = (user: string) => studio.client(user, tenant)
  return {
    as,
    open: async (path = '/inbox', options: Omit<NonNullable<Parameters<typeof studio.open>[1]>, 'tenant'> = {}) => {
      const page = await studio.open(path, { tenant, ...options })
      return page
    },
    ask: async (id: string, tool: string, args: object, user = 'ann') => {
      const conversation = as(user).conversation(id, { agent: 'support' })
      const { turnId } = await conversation.send(JSON.stringify({ tool, args }))
      const outcome = await conversation.outcome(turnId)
      if (outcome.status !== 'waiting') throw new Error(`the turn is ${outcome.status}`)
      return outcome.pending[0]!
    },
    resolutions: async (id: string): Promise<Extract<LogEvent, { type: 'resolution' }>['content'][]> => {
      const events = await as('ann').conversation(id).events()
      return events.flatMap((event) => (event.type === 'resolution' ? [event.content] : []))
    },
  }
}

const shows = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()
const heading = (page: Page, name: string): Promise<void> => page.getByRole('heading', { name }).waitFor()

studioTest('a person approves with edited arguments, and the log has both', async () => {
  const { open, ask, resolutions } = story('edits')
  await ask('t-1', 'refund', { orderId: 'o-17', cents: 5_000 })
  const page = await open()
  await heading(page, 'Refund 50.00 EUR for order o-17')
  expect(await page.getByText('as the model asked').count()).toBe(2)
  await page.getByLabel('cents').fill('99999')
  await page.getByRole('button', { name: 'Approve with changes' }).click()
  await shows(page, 'This must be at most 9999.')
  await page.getByLabel('cents').fill('4500')
  await shows(page, 'was 5000')
  await looked(page)
  await page.getByRole('button', { name: 'Approve with changes' }).click()
  await shows(page, 'Approved by you')
  expect(await resolutions('t-1')).toMatchObject([
    {
      who: 'ann',
      status: 'resolved',
      edited: { before: { orderId: 'o-17', cents: 5_000 }, after: { orderId: 'o-17', cents: 4_500 } },
    },
  ])
})

studioTest(
  'an approval that comes again says that the same was done before, also where many are answered',
  async () => {
    const { as, open, ask } = story('again')
    const first = await ask('v-1', 'refund', { orderId: 'o-17', cents: 5_000 })
    const chat = as('ann').conversation('v-1')
    await chat.approve(first)
    await expect.poll(async () => (await chat.view()).phase).toBe('idle')
    const { turnId } = await chat.retry(undefined, { force: true })
    expect(await chat.outcome(turnId)).toMatchObject({ status: 'waiting' })
    await ask('v-2', 'refund', { orderId: 'o-18', cents: 100 })
    const page = await open('/inbox', { expected: [/ERR_FAILED/] })
    const row = page.getByRole('listitem').filter({ hasText: 'order o-17' })
    await row.getByText('ran before').waitFor()
    expect(await page.getByText('ran before').count()).toBe(1)
    // It is said with the question, not only when the rest of the conversation has been read.
    await page.route('**/conversations/v-1/view*', (route) => route.abort())
    await row.getByRole('button').click()
    await shows(page, 'An earlier variant ran the same: it was done.')
    for (const box of await page.getByRole('checkbox', { name: /Select Refund/ }).all())
      await box.check({ force: true })
    await shows(page, '1 of them ran before')
  },
)

studioTest(
  'with the keyboard alone a person goes through the list, denies with a reason, edits JSON and approves',
  async () => {
    const { open, ask, resolutions } = story('keys')
    for (const n of [1, 2, 3]) await ask(`k-${n}`, 'refund', { orderId: `o-${n}0`, cents: n * 100 })
    const page = await open()
    await heading(page, 'Refund 3.00 EUR for order o-30')
    await expect.poll(() => page.title()).toBe('(3) Refund 3.00 EUR for order o-30 · Perdure')
    await looked(page)
    await page.keyboard.press('d')
    await page.keyboard.type('Too much')
    const goOn = await withoutTime(page)
    await page.keyboard.press('Enter')
    // After an answer the next item is shown; a key that was pressed twice does not answer it, too.
    await heading(page, 'Refund 2.00 EUR for order o-20')
    await page.keyboard.press('a')
    await shows(page, 'Not sent: this had only just appeared. Press again.')
    await goOn()
    expect(await resolutions('k-2')).toEqual([])
    expect(await resolutions('k-3')).toMatchObject([{ status: 'denied', value: { reason: 'Too much' }, who: 'ann' }])
    await page.keyboard.press('j')
    await heading(page, 'Refund 1.00 EUR for order o-10')
    const [, item] = await studio
      .client('ann', 'keys')
      .inbox()
      .then(({ items }) => items)
    await expect.poll(() => decodeURIComponent(new URL(page.url()).pathname)).toBe(`/studio/inbox/${item!.callId}`)
    await page.keyboard.press('r')
    await page.getByLabel('Arguments').fill('{"orderId": "o-10", "cents": 12345678901234567890}')
    await shows(page, 'The number 12345678901234567890 cannot be kept exactly.')
    await page.getByLabel('Arguments').fill('{"orderId": "o-10", "cents": 150, "note": "ünï 👍"}')
    await looked(page)
    await page.keyboard.press('Control+Enter')
    await heading(page, 'Refund 2.00 EUR for order o-20')
    expect(await resolutions('k-1')).toMatchObject([
      { edited: { after: { orderId: 'o-10', cents: 150, note: 'ünï 👍' } } },
    ])
    await page.reload()
    await heading(page, 'Refund 2.00 EUR for order o-20')
  },
)

studioTest('questions of tools and of sessions are forms', async () => {
  const { as, open, ask, resolutions } = story('forms')
  await as('ann').flow('return', 'r/1:a').start({ orderId: 'o-17' })
  const { callId } = await ask('q-1', 'ask_address', { why: 'the lamp is heavy' })
  const page = await open(`/inbox/${callId}`)
  await heading(page, 'Where should the lamp go?')
  await shows(page, 'the lamp is heavy')
  await page.getByRole('button', { name: 'Send the answer' }).click()
  await shows(page, 'Not sent: some fields do not fit.')
  await page.getByLabel('street').fill('Main St 1 <b>"')
  await page.getByLabel('floor').fill('3')
  await page.getByRole('radiogroup', { name: 'express' }).getByText('No').click()
  await page.getByRole('radiogroup', { name: 'carrier' }).getByText('courier').click()
  await looked(page)
  await page.getByLabel('street').press('Enter')
  await heading(page, 'Has o-17 arrived?')
  const value = { street: 'Main St 1 <b>"', floor: 3, express: false, carrier: 'courier' }
  expect(await resolutions('q-1')).toMatchObject([{ who: 'ann', value }])
  await looked(page)
  await page.getByText('Yes').click()
  await page.getByRole('button', { name: 'Send the answer' }).click()
  await shows(page, 'Answered by you')
  expect(await as('ann').flow('return', 'r/1:a').outcome()).toMatchObject({ status: 'done', result: { ok: true } })
})

studioTest('forty approvals at once, three of them lost to others', async () => {
  const { as, open, ask } = story('many')
  const asked = await Promise.all(
    Array.from({ length: 40 }, (_, n) => ask(`m-${n}`, 'refund', { orderId: `o-${100 + n}`, cents: 100 })),
  )
  const page = await open()
  const rows = page.getByRole('list', { name: 'Waiting' }).getByRole('listitem')
  await expect.poll(() => rows.count()).toBe(40)
  // These three are on their way when bob answers.
  const lost = asked.slice(10, 13)
  for (const { conversationId, callId } of lost) {
    await page.route(`**/calls/${callId}/approve`, async (route) => {
      await as('bob').conversation(conversationId).deny({ callId, round: 1 }, { reason: 'no' })
      await route.continue()
    })
  }
  await page.keyboard.press('*')
  await heading(page, '40 selected')
  await looked(page)
  await page.keyboard.press('a')
  await page.getByText('37 of 40 accepted').waitFor()
  await expect.poll(() => rows.getByText('Approved by you').count()).toBe(37)
  await expect.poll(() => rows.getByText('Denied by bob').count()).toBe(3)
  const results = page.getByRole('region', { name: 'What came of it' })
  expect(await results.getByText('Denied by bob').count()).toBe(3)
  await page.keyboard.press('Escape')
  await shows(page, 'Nothing is waiting.')
  await shows(page, 'Last answer:')
  await expect.poll(() => page.title()).toBe('Inbox · Perdure')
})

studioTest('a row and its detail say for whom it is asked, also of a session', async () => {
  const { as, open, ask } = story('whom')
  await ask('w-1', 'refund', { orderId: 'o-17', cents: 5_000 }, 'bob')
  await as('eve').flow('return', 'w-2').start({ orderId: 'o-18' })
  const page = await open()
  const rows = page.getByRole('list', { name: 'Waiting' }).getByRole('listitem')
  await rows.filter({ hasText: 'Refund 50.00 EUR' }).getByText('for bob').waitFor()
  await rows.filter({ hasText: 'Has o-18 arrived?' }).click()
  await page.getByRole('complementary', { name: 'Context' }).getByText('eve', { exact: true }).waitFor()
})

studioTest('two people click the same approval: one wins, and both pages show the same end', async () => {
  const { open, ask, resolutions } = story('race')
  await ask('x-1', 'refund', { orderId: 'o-17', cents: 5_000 })
  const pages = await Promise.all(['ann', 'eve'].map((user) => open('/inbox', { user })))
  for (const page of pages) await heading(page, 'Refund 50.00 EUR for order o-17')
  await looked(pages[0]!)
  await Promise.all(pages.map((page) => page.getByRole('button', { name: 'Approve' }).click()))
  await expect.poll(() => resolutions('x-1')).toHaveLength(1)
  const winner = (await resolutions('x-1'))[0]!.who
  for (const [index, user] of ['ann', 'eve'].entries())
    await shows(pages[index]!, user === winner ? 'Approved by you' : `Approved by ${winner}`)
})

studioTest('a deadline is moved, and passes on screen', async () => {
  const { open, ask, resolutions, as } = story('deadline')
  const { callId, round } = await ask('d-1', 'refund', { orderId: 'o-17', cents: 5_000 })
  const page = await open()
  await heading(page, 'Refund 50.00 EUR for order o-17')
  await page.getByLabel('Move the deadline').selectOption('Never')
  await page.getByRole('complementary').getByText('never', { exact: true }).waitFor()
  expect((await as('ann').inbox()).items[0]!.expiresAt).toBe(null)
  await as('bob').conversation('d-1').extendDeadline({ callId, round }, { expiresInMs: 9_500 })
  await page
    .getByRole('complementary')
    .getByText(/^in \d s$/)
    .waitFor()
  await shows(page, 'Expired without an answer')
  expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
  expect(await resolutions('d-1')).toMatchObject([{ status: 'expired' }])
})

studioTest('rows stay under the pointer, and an item that changes is not answered by accident', async () => {
  const { as, open, ask, resolutions } = story('still')
  await ask('s-1', 'refund', { orderId: 'o-17', cents: 100 })
  const call = await ask('s-2', 'print_label', { text: 'Graz' })
  const page = await open()
  const rows = page.getByRole('list', { name: 'Waiting' }).getByRole('listitem')
  await heading(page, 'Print Graz')
  const row = rows.filter({ hasText: 'o-17' })
  await row.hover()
  const before = await row.boundingBox()
  await ask('s-3', 'refund', { orderId: 'o-99', cents: 100 })
  await shows(page, '1 new')
  expect(await row.boundingBox()).toEqual(before)
  expect(await rows.count()).toBe(2)
  await page.getByRole('heading', { name: 'Print Graz' }).hover()
  await expect.poll(() => rows.count()).toBe(3)
  // Another person approves: the same call now waits for a page to run it.
  await looked(page)
  await as('bob').conversation('s-2').approve({ callId: call.callId, round: 1 })
  await shows(page, 'This changed while you were looking. It is shown as it is now.')
  await page.keyboard.press('a')
  await page.keyboard.press('Control+Enter')
  expect(await page.getByRole('button', { name: 'Send the answer' }).isDisabled()).toBe(true)
  expect(await resolutions('s-2')).toMatchObject([{ round: 1, who: 'bob' }])
  await page.getByRole('button', { name: 'I have seen it' }).click()
  await page.getByLabel('Answer').fill('printed')
  await looked(page)
  await page.getByRole('button', { name: 'Send the answer' }).click()
  await expect
    .poll(() => resolutions('s-2'))
    .toMatchObject([{ round: 1 }, { round: 2, who: 'ann', value: { ok: true, result: 'printed' } }])
})

studioTest('on a phone the list pushes its detail, and the buttons are under the thumb', async () => {
  const { open, ask, resolutions } = story('phone')
  for (const n of [2, 3]) await ask(`p-${n}`, 'refund', { orderId: `o-${n}0`, cents: 100 })
  await ask('p-1', 'refund', { orderId: 'o-17', cents: 5_000 })
  const page = await open('/inbox', { width: 390 })
  await page.getByText('Refund 50.00 EUR for order o-17').first().tap()
  await heading(page, 'Refund 50.00 EUR for order o-17')
  const button = (await page.getByRole('button', { name: 'Approve' }).boundingBox())!
  expect(button.height).toBeGreaterThanOrEqual(44)
  expect(button.y).toBeGreaterThan(500)
  // Who asks, and until when, is on the same screen, above the buttons.
  const side = (await page.getByRole('complementary', { name: 'Context' }).getByText('Expires').boundingBox())!
  expect(side.y + side.height).toBeLessThan(button.y)
  await page.getByRole('link', { name: 'Back to the list' }).tap()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await page.goBack()
  await heading(page, 'Refund 50.00 EUR for order o-17')
  await looked(page)
  await page.getByRole('button', { name: 'Approve' }).tap()
  await expect.poll(() => resolutions('p-1')).toMatchObject([{ status: 'resolved' }])
  await page.getByRole('link', { name: 'Back to the list' }).tap()
  for (const n of [2, 3]) await page.getByLabel(`Select Refund 1.00 EUR for order o-${n}0`).tap()
  await page.getByRole('button', { name: 'Answer them…' }).tap()
  await looked(page)
  await page.getByRole('button', { name: 'Approve 2' }).tap()
  await shows(page, '2 of 2 accepted')
})

studioTest('nothing of hostile content runs, leaves the page or breaks it', async () => {
  const { open, ask, as } = story('hostile')
  const script =
    '<script>globalThis.taken = 1</script><img src=x onerror="globalThis.taken = 1"><a href="javascript:taken=1">x</a>'
  const evil = {
    prompt: `${script} \u202egnp.exe`,
    [script]: script,
    long: 'x'.repeat(1_000_000),
    rtl: '\u202e5000',
    deep: { [script]: [script] },
  }
  const { callId } = await ask('<b>"h', 'anything', { ...evil, long: 'x'.repeat(100_000) })
  await as('ann')
    .conversation('<b>"h')
    .rename(`${script}${'W'.repeat(150)}`)
  await ask('h-2', 'anything', { prompt: 'W'.repeat(100_000) })
  await ask('h-3', 'anything', { prompt: '\u202e\u2066'.repeat(2_000) })
  for (const width of [wide, 390]) {
    const page = await open(`/inbox/${callId}`, { width })
    await page.getByRole('heading', { level: 2 }).waitFor()
    await shows(page, /^Edit all 100,000 characters$/)
    await shows(page, 'There are characters in it that cannot be seen')
    for (let steps = 0; steps < 3; steps += 1) {
      const broken = await page.evaluate(() => ({
        taken: (globalThis as { taken?: number }).taken,
        sideways: document.documentElement.scrollWidth - innerWidth,
        scripts: document.querySelectorAll('main script, main img, main a[href^="javascript"]').length,
      }))
      expect(broken).toEqual({ taken: undefined, sideways: 0, scripts: 0 })
      await page.keyboard.press('k')
    }
    await page.keyboard.press('r')
  }
})
