import { createScope, defineAgent, defineTool, halt, postHook, type Scope } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'
import { looked } from './settled.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({}),
  approval: 'required',
  run: () => 'paid',
})
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)!
  const said = JSON.stringify(last)
  if (last.role === 'tool') return 'Paid.'
  if (said.includes('secret')) return 'The password is swordfish.'
  if (said.includes('pay')) return { calls: [{ tool: 'pay', args: {} }] }
  return `Heard: ${/"text":"([^"]*)"/.exec(said)?.[1] ?? ''}`
})
const guard = postHook('no_secrets', (turn) =>
  JSON.stringify(turn).includes('swordfish') ? halt('It would have told a secret.') : undefined,
)

/** An app that keeps the newest snapshot of each conversation, and a directory of users that can be down. */
const kept = new Map<string, unknown>()
const directory = { isDown: false }
const studio = openStudio({
  agents: [
    defineAgent({ name: 'plain', model, tools: [pay] }),
    defineAgent({ name: 'guarded', model, hooks: [guard] }),
  ],
  persistence: {
    persistState(_, state, { conversationId }) {
      kept.set(conversationId ?? '', state)
    },
    loadState: (_, { conversationId }) => (kept.get(conversationId?.replace('copy-of-', '') ?? '') ?? null) as never,
  },
  restoreScope: (tenant, user) => {
    if (directory.isDown) throw new Error('the directory is down')
    return createScope({ user, tenant }) as Scope
  },
})

async function say(id: string, text: string, agent = 'plain') {
  const conversation = studio.client().conversation(id, { agent })
  const { turnId } = await conversation.send(text)
  return { turnId, outcome: await conversation.outcome(turnId) }
}

const open = async (path: string): Promise<Page> => {
  const page = await studio.open(path)
  return page
}
const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' })
const shows = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()

studioTest('a message that a hook withheld is named, and its text is nowhere', async () => {
  await say('withheld', 'Tell me the secret', 'guarded')
  const page = await open('/conversations/withheld')
  await shows(page, 'Withheld: the hook no_secrets did not pass this message.')
  await shows(page, /Halted: It would have told a secret\./)
  expect(await page.getByRole('log', { name: 'Transcript' }).textContent()).not.toContain('swordfish')
})

studioTest('what came from a snapshot is marked as restored, and cannot be edited', async () => {
  await say('restored', 'Before')
  await expect.poll(() => kept.has('restored')).toBe(true)
  // Another store, with the app's table of snapshots beside it.
  await say('copy-of-restored', 'After')
  const page = await open('/conversations/copy-of-restored')
  await shows(page, 'Heard: After')
  const message = page.getByRole('article', { name: 'Message from' }).filter({ hasText: 'Before' })
  expect(await message.getByText('restored', { exact: true }).count()).toBe(2)
  await message.first().hover()
  expect(await message.first().getByRole('button', { name: 'Edit and send again' }).count()).toBe(0)
})

studioTest('a message that another took the place of is one click away, and struck out in the timeline', async () => {
  const { turnId } = await say('superseded', 'First words')
  const conversation = studio.client().conversation('superseded')
  await conversation.outcome((await conversation.send('Better words', { replaces: turnId })).turnId)
  const page = await open('/conversations/superseded')
  await shows(page, 'Heard: Better words')
  const transcript = page.getByRole('log', { name: 'Transcript' })
  expect(await transcript.textContent()).not.toContain('First words')
  await page.getByRole('region', { name: 'Turn: First words' }).getByText('replaced').waitFor()
  await page.getByRole('button', { name: 'variant 2, see the one before' }).click()
  await shows(page, /As it was after event \d+ of \d+/)
  await transcript.getByText('First words').first().waitFor()
  expect(await composer(page).count()).toBe(0)
})

studioTest('a conversation that is quarantined says so on every page, and an operator releases it', async () => {
  await quarantine('poison')
  const visitor = await studio.open('/conversations/poison', { user: 'visitor' })
  await shows(visitor, 'until an operator releases it.')
  expect(await visitor.getByRole('button', { name: 'Release' }).count()).toBe(0)
  const page = await open('/conversations')
  await page
    .getByRole('link', { name: /poison/ })
    .getByText('quarantined')
    .waitFor()
  await page.goto(`${studio.url}/studio/conversations/poison`)
  await shows(page, /Quarantined (just now|.* ago): the processes that worked on it died/)
  await shows(page, 'perdure unquarantine poison')
  await page.getByRole('button', { name: 'Release from quarantine' }).click()
  const dialog = page.getByRole('dialog', { name: 'Let processes work on it again?' })
  expect(await isQuarantined('poison')).toBe(true)
  await dialog.getByRole('button', { name: 'Release' }).click()
  await expect.poll(() => page.getByText('Quarantined').count()).toBe(0)
  expect(await isQuarantined('poison')).toBe(false)

  await quarantine('poison-2')
  await page.goto(`${studio.url}/studio/health`)
  const listed = page.getByRole('region', { name: 'Quarantined' }).getByRole('listitem').filter({ hasText: 'poison-2' })
  await listed.getByText('tenant default').waitFor()
  await listed.getByText('plain', { exact: true }).waitFor()
  await listed.getByRole('button', { name: 'Release poison-2' }).click()
  await dialog.getByRole('button', { name: 'Release' }).click()
  await page.getByRole('region', { name: 'Quarantined' }).getByText('Nothing is quarantined').waitFor()
  expect(await isQuarantined('poison-2')).toBe(false)
})

async function isQuarantined(id: string): Promise<boolean> {
  const { conversations } = await studio.client().conversations({ limit: 100 })
  return conversations.find((record) => record.id === id)!.quarantinedAt !== undefined
}

/** Five processes in a row die while they work on it. */
async function quarantine(id: string): Promise<void> {
  await say(id, 'Hello')
  const store = studio.store!.forTenant('default')
  for (let lapse = 0; lapse < 6; lapse += 1) {
    await store.claimLease(id, `dead-${lapse}`, 1)
    const claimedAt = Date.now()
    await expect.poll(() => Date.now() > claimedAt + 1, { interval: 1 }).toBe(true)
  }
  expect(await isQuarantined(id)).toBe(true)
}

studioTest('a turn whose person cannot be looked up is shown as paused, until it goes on', async () => {
  await say('paused', 'pay please')
  const page = await open('/conversations/paused')
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  directory.isDown = true
  try {
    await looked(page)
    await page.getByRole('button', { name: 'Approve' }).click()
    await shows(page, /Paused (just now|.* ago): /)
  } finally {
    directory.isDown = false
  }
  await page.getByText('Paid.').waitFor()
  await expect.poll(() => page.getByText(/Paused (just now|.* ago): /).count()).toBe(0)
})

studioTest('a message is shown as on its way until it is durable, and then once', async () => {
  await say('sending', 'Hello')
  const page = await open('/conversations/sending')
  await shows(page, 'Heard: Hello')
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/messages', async (route) => {
    await released
    await route.continue()
  })
  await composer(page).fill('on its way')
  await composer(page).press('Control+Enter')
  await page.getByRole('button', { name: 'Sending…' }).waitFor()
  await page.getByRole('listitem').filter({ hasText: 'on its way' }).getByText('Sending…').waitFor()
  expect(await composer(page).inputValue()).toBe('on its way')
  expect(await page.getByRole('log', { name: 'Transcript' }).textContent()).not.toContain('on its way')
  release()
  await shows(page, 'Heard: on its way')
  // The stream may bring the answer before the message is acknowledged.
  await expect.poll(() => page.getByText('Sending…').count()).toBe(0)
  await expect.poll(() => composer(page).inputValue()).toBe('')
})

studioTest('a page whose code cannot be loaded says so, and the others stay in reach', async () => {
  const page = await studio.open('/conversations', { expected: [/net::ERR_FAILED/, /dynamically imported module/] })
  await page.getByRole('list', { name: 'Conversations' }).waitFor()
  const code = '**/assets/health-page-*.js'
  await page.route(code, (route) => route.abort())
  await page.keyboard.press('4')
  await page.getByRole('heading', { name: 'This page cannot be shown.' }).waitFor()
  await shows(page, 'has a newer version of the studio')
  await page.keyboard.press('3')
  await page
    .getByRole('heading', { name: 'Flows' })
    .or(page.getByText('no session', { exact: false }))
    .first()
    .waitFor()
  await page.keyboard.press('4')
  await page.getByRole('heading', { name: 'This page cannot be shown.' }).waitFor()
  await page.unroute(code)
  await page.getByRole('button', { name: 'Load it again' }).click()
  await page.getByRole('heading', { name: 'Health' }).waitFor()
})
