import { memoryStore } from 'perdure'
import { exportStore } from 'perdure/upkeep'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { bombs } from './conversation-world.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { userCookie } from './studio-page.ts'

const studio = openStudio({ module: new URL('./conversation-world.ts', import.meta.url) })

const messages = (page: Page) => page.getByRole('article')
const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' })
const transcript = (page: Page) => page.getByRole('log', { name: 'Transcript' })

async function said(id: string, text: string): Promise<void> {
  const conversation = studio.client().conversation(id, { agent: 'support' })
  const { turnId } = await conversation.send(text)
  await conversation.outcome(turnId)
}

studioTest(
  'the server dies while text streams and comes back: the page heals by itself, and nothing is there twice',
  async () => {
    await said('killed', 'Hello')
    const lost = [/net::ERR_/, /status of 50/]
    const page = await studio.open('/conversations/killed', { expected: lost })
    await composer(page).fill('count for me')
    await composer(page).press('Control+Enter')
    await transcript(page).getByText('w12 ').waitFor()
    await studio.kill()
    await page.getByText('The server does not answer.').waitFor()
    expect(await messages(page).first().textContent()).toContain('Hello')
    await studio.start()
    await expect.poll(() => page.getByText('The server does not answer.').count()).toBe(0)
    await transcript(page).getByText('w159 END').waitFor()
    await expect.poll(() => page.locator('[aria-busy="true"]').count()).toBe(0)
    const text = await transcript(page).textContent()
    expect(text?.match(/count for me/g)).toHaveLength(1)
    expect(text?.match(/w0 w1 w2 /g)).toHaveLength(1)
    expect(text?.match(/w159 END/g)).toHaveLength(1)
    const view = await studio.client().conversation('killed').view()
    expect(view.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  },
)

studioTest('a reload in mid-stream goes on where the text is, and keeps what was typed', async () => {
  await said('reloaded', 'Hello')
  const page = await studio.open('/conversations/reloaded')
  await composer(page).fill('count again')
  await composer(page).press('Control+Enter')
  await page.getByText('w5 ').waitFor()
  await composer(page).fill('a thought that is not sent yet')
  await page.reload()
  await page.getByText('w20 ').waitFor()
  expect(await composer(page).inputValue()).toBe('a thought that is not sent yet')
  await page.getByText('w159 END').waitFor()
  expect((await transcript(page).textContent())?.match(/w0 w1 /g)).toHaveLength(1)
  // A file of the store is loaded when it is asked for.
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const data = `data:image/png;base64,${dot}`
  await studio
    .client()
    .conversation('reloaded')
    .send([{ type: 'file', mediaType: 'image/png', data, filename: 'dot.png' }])
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await expect
    .poll(() => page.getByRole('img', { name: 'dot.png' }).evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBe(1)
})

studioTest('a person sends, steers, cancels, retries and edits', async () => {
  await said('steered', 'Hello')
  const page = await studio.open('/conversations/steered', { expected: [/status of 400/] })
  await composer(page).fill('count on')
  await composer(page).press('Control+Enter')
  await page.getByText('w3 ').waitFor()
  await page.getByLabel('While a turn is open, send').selectOption('steer')
  await composer(page).fill('and be brief')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('steered the turn').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('Cancelled by ann').waitFor()
  await expect.poll(() => composer(page).inputValue()).toBe('')

  await composer(page).fill('fail once retried.')
  await composer(page).press('Control+Enter')
  await page.getByText('Failed: model_rejected').waitFor()
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
  await page.getByText('Heard: fail once retried.').waitFor()
  await page.getByText('variant 2, see the one before').waitFor()
  expect(await page.getByText('Failed: model_rejected').count()).toBe(0)

  await transcript(page).getByText('fail once retried.', { exact: true }).hover()
  await page.getByRole('button', { name: 'Edit and send again' }).last().click()
  await composer(page).fill('a better question')
  await composer(page).press('Control+Enter')
  await page.getByText('Heard: a better question').waitFor()
  await page.getByText('variant 3, see the one before').waitFor()

  // What the server refuses stays in the composer, with the reason.
  await page.route('**/messages', (route) =>
    route.fulfill({
      status: 400,
      contentType: 'application/problem+json',
      body: '{"code":"invalid_request","detail":"No.","status":400,"retryable":false}',
    }),
  )
  await composer(page).fill('precious words')
  await composer(page).press('Control+Enter')
  await page.getByText('Not sent.').waitFor()
  expect(await composer(page).inputValue()).toBe('precious words')
})

studioTest(
  'a call is approved in place with other arguments, renamed, forked, and deleted once its name is typed',
  async () => {
    await said('settled', 'a refund please')
    const page = await studio.open('/conversations/settled')
    await page.getByRole('button', { name: 'Edit arguments' }).click()
    await page.getByLabel('cents').fill('4500')
    await expect
      .poll(
        async () => {
          const approve = page.getByRole('button', { name: 'Approve with changes' })
          if (await approve.isVisible()) await approve.click()
          return page.getByText('You have your money back.').count()
        },
        { interval: 800 },
      )
      .toBe(1)
    await transcript(page)
      .getByRole('button', { name: /^refund/ })
      .click()
    await page.getByText('Approved with edits by ann').waitFor()
    // In one line: what ran, and whose change it was.
    const card = transcript(page).getByRole('button', { name: /^refund/ })
    expect(await card.textContent()).toMatch(/cents 4500.*edited by ann/)
    expect(await page.getByLabel('Edited arguments').textContent()).toMatch(
      /- {3}"cents": 5000[\s\S]*\+ {3}"cents": 4500/,
    )

    await page.getByRole('heading', { level: 1 }).hover()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByLabel('Title').fill('<b>Refund</b>')
    await page.getByLabel('Title').press('Enter')
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe('<b>Refund</b>')

    await page.getByRole('button', { name: 'More' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    expect((await download).suggestedFilename()).toBe('settled.jsonl')

    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('button', { name: 'Fork' }).last().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith('/settled'))
    await page.getByText('Forked from').waitFor()
    await page.getByText('You have your money back.').waitFor()

    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('button', { name: 'Delete…' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Delete' })
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByRole('textbox').fill('settled')
    expect(await confirm.isDisabled()).toBe(true)
    const fork = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
    await dialog.getByRole('textbox').fill(fork)
    await confirm.click()
    await page.waitForURL('**/studio/conversations')
    expect(await studio.client().conversation('settled').view()).toMatchObject({ title: '<b>Refund</b>' })
    await expect(studio.client().conversation(fork).view()).rejects.toMatchObject({ code: 'conversation_not_found' })
  },
)

studioTest('hostile text is shown and does nothing', async () => {
  await said('hostile', 'say something hostile <script>globalThis.hacked = 5</script>')
  await said('hostile', 'hostile refund')
  for (const index of bombs.keys()) await said('hostile', `bomb ${index}`)
  await studio.client().conversation('hostile').rename('\u202e<img src=x onerror="globalThis.hacked = 6">')
  const page = await studio.open('/conversations/hostile')
  await page.getByRole('button', { name: 'Show all 1,000,018 characters' }).click()
  await page.getByRole('button', { name: 'Show less' }).click()
  await transcript(page).evaluate((list) => list.scrollTo(0, 0))
  await page.getByText('<script>globalThis.hacked = 1</script>').first().waitFor()
  await page.getByText('Reasoning').first().click()
  expect(await transcript(page).locator('script, img, svg style, iframe, object, [onerror], [onload]').count()).toBe(0)
  const links = await transcript(page)
    .locator('a')
    .evaluateAll((found) => found.map((link) => [link.getAttribute('href'), link.getAttribute('rel')]))
  expect(links.length).toBeGreaterThan(2)
  for (const [href, rel] of links) {
    expect(href).toMatch(/^(https:\/\/(tracker|example)\.invalid\/|mailto:)/)
    expect(rel).toBe('noopener noreferrer nofollow')
  }
  const shown = await transcript(page).textContent()
  expect(shown).toContain('safe.‹202e›txt.exe‹202c›')
  expect(shown).not.toMatch(/\p{Bidi_Control}/u)
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('‹202e›<img')
  // Still usable: something can be said, and the answer is seen.
  await composer(page).fill('are you there')
  await composer(page).press('Control+Enter')
  await page.getByText('Heard: are you there').waitFor()
  expect(await page.evaluate(() => Reflect.get(globalThis, 'hacked'))).toBe(undefined)
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
})

studioTest('a list of thousands is filtered by its address, and reached by keyboard', async () => {
  const source = memoryStore()
  const tenant = source.forTenant('default')
  for (let n = 0; n < 2_000; n++) {
    await tenant.putConversation(`many-${n}`, {
      agent: n % 100 === 0 ? 'rare' : 'support',
      owner: n % 2 ? 'ann' : 'bob',
      title: `Order ${n}`,
    })
  }
  let lines = ''
  await exportStore(source, (piece) => void (lines += piece))
  const cookie = `${userCookie}=${encodeURIComponent('{"user":"ann","tenant":""}')}`
  const imported = await fetch(`${studio.url}/store/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson', cookie },
    body: lines,
  })
  expect(await imported.text()).toContain('2000')
  const page = await studio.open('/conversations?agent=rare')
  const rows = page.getByRole('list', { name: 'Conversations' }).getByRole('link')
  await expect.poll(() => rows.count()).toBe(20)
  await page.getByLabel('Owner').fill('bob')
  await page.waitForURL('**/conversations?agent=rare&owner=bob')
  await page.reload()
  await expect.poll(() => rows.count()).toBe(20)
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.waitForURL((url) => url.search === '')
  await rows.nth(40).waitFor()
  // To the end: each screen has rows while pages are read.
  const scroller = page.getByRole('list', { name: 'Conversations' }).locator('..')
  await expect
    .poll(async () => {
      await scroller.evaluate((list) => list.scrollTo(0, list.scrollHeight))
      return page.getByRole('link', { name: /Order 0\b/ }).count()
    })
    .toBe(1)
  expect(await rows.count()).toBeLessThan(120)
  await page.keyboard.press('/')
  await page.keyboard.type('Order 1999')
  await page.waitForURL('**/conversations?text=Order+1999')
  await expect.poll(() => rows.count()).toBe(1)
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/conversations/many-1999')
  await page.getByRole('list', { name: 'Conversations' }).waitFor({ state: 'detached' })
  await page.goBack()
  await page.waitForURL('**/conversations?text=Order+1999')
})
