import { type Authorize, defineAgent, defineFlow, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import { openStudio, studioTest } from './open-studio.ts'
import { looked } from './settled.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({}),
  approval: 'required',
  describe: () => 'Refund it',
  run: () => 'paid',
})
const support = defineAgent({
  name: 'support',
  tools: [refund],
  model: scriptedModel(({ prompt }) =>
    JSON.stringify(prompt.at(-1)).includes('refund') ? { calls: [{ tool: 'refund', args: {} }] } : 'Hello.',
  ),
})
const ask = defineFlow({ name: 'ask it', version: 1, run: (flow) => flow.suspend('How many?') })
/** They may see what is theirs, and nothing else any more. */
const revoked = new Set<string | undefined>()
const authorize: Authorize = ({ scope }) => (revoked.has(scope.user) ? { owner: scope.user! } : 'all')
const studio = openStudio({ agents: [support], flows: [ask], authorize })

const ids = ['a/b?c=1#d', '%2e%41', 'ünï 👍', ':id', '*', "it's+&=;", 'C:\\x', 'inbox', '..%2f']

studioTest('ids of any letters lead to their pages: from a list, by a link, after a reload and back', async () => {
  const client = studio.client('ann', 'ids')
  for (const id of ids) {
    const conversation = client.conversation(id, { agent: 'support' })
    await conversation.outcome((await conversation.send(`I am ${id}`)).turnId)
    await client.flow('ask it', `${id}~s`).start()
  }
  const page = await studio.open('/conversations', { tenant: 'ids' })
  for (const id of ids) {
    await page.getByRole('list', { name: 'Conversations' }).getByText(id, { exact: true }).click()
    const said = page.getByRole('log', { name: 'Transcript' }).getByText(`I am ${id}`, { exact: true })
    await said.waitFor()
    expect(new URL(page.url()).pathname).toBe(`/studio/conversations/${encodeURIComponent(id)}`)
    await page.reload()
    await said.waitFor()
    await page.goBack()
    await page.getByRole('list', { name: 'Conversations' }).waitFor()
  }
  await page.goto(`${studio.url}/studio/flows`)
  for (const id of ids.slice(0, 4)) {
    await page.getByRole('list', { name: 'Sessions' }).getByText(`${id}~s`, { exact: true }).click()
    await page.getByRole('heading', { name: 'How many?' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'How many?' }).waitFor()
    await page.goBack()
    await page.getByRole('list', { name: 'Sessions' }).waitFor()
  }
  // From the inbox to where a question comes from, and back to the question.
  await page.goto(`${studio.url}/studio/inbox`)
  await page.getByRole('list', { name: 'Waiting' }).getByText('How many?').nth(3).click()
  const question = page.url()
  await page.getByRole('link', { name: 'Open session' }).click()
  await page.waitForURL('**/studio/flows/**')
  await page.goBack()
  await page.waitForURL(question)
  await page.getByRole('heading', { name: 'How many?' }).waitFor()
})

studioTest('an address that names nothing says so', async () => {
  const page = await studio.open('/conversations', { tenant: 'none', expected: [/status of 40[04]/] })
  for (const [path, words] of [
    ['/conversations/%25zz', 'There is no such conversation'],
    ['/conversations/none?at=7&tab=log&event=99', 'There is no such conversation'],
    ['/flows/ask%20it/none', 'There is no such session.'],
    ['/flows/none/none', 'There is no such session.'],
    ['/inbox/none', 'Nothing is waiting.'],
    ['/conversations/none/more', 'There is no page at this address.'],
  ] as const) {
    await page.goto(`${studio.url}/studio${path}`)
    await page.getByText(words).waitFor()
  }
})

studioTest(
  'who loses a permission while a page is open answers nothing more, and sees nothing on the next',
  async () => {
    const conversation = studio.client('ann', 'perm').conversation('perm-1', { agent: 'support' })
    await conversation.outcome((await conversation.send('a refund')).turnId)
    const page = await studio.open('/inbox', { user: 'mallory', tenant: 'perm', expected: [/status of 404/] })
    await page.getByRole('heading', { name: 'Refund it' }).waitFor()
    await looked(page)
    revoked.add('mallory')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('No longer waiting').first().waitFor()
    expect((await conversation.events()).filter(({ type }) => type === 'resolution')).toEqual([])
    await page.goto(`${studio.url}/studio/conversations/perm-1`)
    await page.getByText('There is no such conversation, or you may not see it.').waitFor()
    await page.keyboard.press('1')
    await page.getByText('Nothing is waiting.').waitFor()
  },
)
