import { defineAgent, defineFlow, defineTool } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { rowsOf } from '../../studio/conversation/rows.ts'
import { EventLog } from '../../studio/inspector/event-log.ts'
import { emptyView, PastViews } from '../../studio/inspector/past-views.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { userCookie } from './studio-page.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pay an order back',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  approval: 'required',
  run: ({ cents }) => ({ paid: cents }),
})

let asked = 0
const support = defineAgent({
  name: 'support',
  instructions: 'You are the support of a small lamp shop.',
  tools: [refund],
  audit: 'full',
  context: {
    workingBudget: 600,
    injectionReserve: 100,
    summarise: { model: scriptedModel(() => 'They talked about lamps.') },
  },
  model: scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    const said = JSON.stringify(last)
    if (last.role === 'tool') return 'You have your money back.'
    if (said.includes('refund'))
      return { text: 'One moment.', calls: [{ tool: 'refund', args: { orderId: 'o-17', cents: 5000 } }] }
    if (said.includes('long')) return `A long answer. ${'Lamps need light. '.repeat(40)}`
    asked += 1
    return `Answer ${asked}.`
  }),
})

/** Says so much that a view has only the newest of a thousand events. */
const wordy = defineAgent({
  name: 'wordy',
  context: { workingBudget: 3_000, injectionReserve: 100 },
  model: scriptedModel(() => 'Lamps need light. '.repeat(250)),
})

const parcel = defineFlow({
  name: 'parcel',
  version: 1,
  input: z.object({}),
  run: async (flow) => flow.suspend({ ask: 'manager' }, { schema: z.object({ ok: z.boolean() }) }),
})

const studio = openStudio({ agents: [support, wordy], flows: [parcel] })

/** The moments of a log, folded as the page does it. */
function openLog(client: ReturnType<typeof studio.client>, id: string, last: number) {
  const handle = client.conversation(id)
  const log = new EventLog((range) => handle.events(range))
  log.grow(last)
  return { views: new PastViews(log, async (at) => (at === 0 ? emptyView(id) : handle.view({ at }))) }
}

/** A conversation with a summary, a cancelled and a retried turn, an edited approval and a fork. */
async function lived(id: string): Promise<number> {
  const ticket = conversation(id)
  const say = async (text: string) => ticket.outcome((await ticket.send(text)).turnId)
  for (const text of ['Tell me a long story', 'Another long one', 'And a long third']) await say(text)
  await say('Please refund o-17')
  await ticket.cancel()
  await say('Try again?')
  const { turnId } = await ticket.retry()
  await ticket.outcome(turnId)
  await say('A refund, now really')
  const [call] = (await ticket.view()).pending
  await ticket.approve(call!.callId, { args: { orderId: 'o-17', cents: 4500 } })
  const { seq } = await untilIdle(ticket)
  await ticket.fork({ at: 4, id: `${id}-fork` })
  return seq
}

const conversation = (id: string) => studio.client().conversation(id, { agent: 'support' })

async function untilIdle(ticket: ReturnType<typeof conversation>) {
  for await (const view of ticket.views()) if (view.phase === 'idle') return view
  throw new Error('the stream ended')
}

/** What a person reads in the transcript. */
async function transcript(page: Page): Promise<string[]> {
  const messages = await page.getByRole('log', { name: 'Transcript' }).getByRole('article').allInnerTexts()
  return messages.map((text) => text.replaceAll(/\s+/g, ' '))
}

type Ticket = ReturnType<typeof conversation>
type TicketView = Awaited<ReturnType<Ticket['view']>>

/** A view with the messages of its history, as a page that has scrolled to its first one. */
async function wholeView(of: Ticket, view: TicketView): Promise<TicketView> {
  let { messages, before } = view
  while (before !== null) {
    const page = await of.history({ before, limit: 100 })
    messages = [...page.messages, ...messages]
    before = page.before
  }
  return { ...view, messages, before }
}

/** What the server shows of that moment: the view of a fork there. A fork ends a call that had started, so then its own view of the moment. */
async function serverAt(ticket: Ticket, at: number): Promise<TicketView> {
  const fork = (await ticket.fork({ at })) as Ticket
  const view = await fork.view()
  return view.seq === at ? wholeView(fork, view) : wholeView(ticket, await ticket.view({ at }))
}

/** Pages of history have messages alone: how a turn ended is known from the first turn of a view on. */
function beginOf({ log, seq }: TicketView): number {
  return log.turns[0]?.firstSeq ?? seq + 1
}

/** The lines of a transcript as data: who said what, what became of each call, how turns ended, and what waits. Ids of a fork are its own. */
function told(view: TicketView, since = beginOf(view)): object {
  const shown = rowsOf(view, view.messages).filter((row) => row.type !== 'end' || row.turn.end!.seq >= since)
  const rows = shown.map((row) => {
    if (row.type === 'end') return { type: row.type, status: row.turn.end?.status, reason: row.turn.end?.reason }
    if (row.type !== 'message') return { type: row.type }
    const { role, seq, parts } = row.message
    return { role, seq, isSteering: row.isSteering, isContinued: row.isContinued, parts: parts.map(partOf) }
  })
  const pending = view.pending.map(({ tool, kind, round, args }) => ({ tool, kind, round, args }))
  return { seq: view.seq, phase: view.phase, title: view.title, rows, pending }
}

function partOf(part: TicketView['messages'][number]['parts'][number]): object {
  if (part.type !== 'call') return part
  const { name, args, phase, end, edited = null } = part
  return { name, args, phase, end, edited }
}

type Shown = { readonly seq: number; readonly text: string }

/** The lines on the page: the event that each is about, and what it says. Lines that are off screen are not there. */
async function linesOnPage(page: Page): Promise<Shown[]> {
  const lines = page.locator('[role=log] [data-index] [data-seq]')
  return lines.evaluateAll((found) =>
    found.map((line) => ({
      seq: Number((line as HTMLElement).dataset['seq']),
      text: line.textContent!.replaceAll(/\s+/g, ' '),
    })),
  )
}

/** The texts of the server's messages that are on the page with other words. */
function differing(shown: readonly Shown[], { messages }: TicketView): string[] {
  return shown.flatMap(({ seq, text }) => {
    const parts = messages.find((message) => message.seq === seq)?.parts ?? []
    const said = parts.flatMap((part) => (part.type === 'text' ? [part.text.replaceAll(/\s+/g, ' ').trim()] : []))
    return said.filter((words) => !text.includes(words))
  })
}

function linesOf(view: TicketView): number[] {
  return rowsOf(view, view.messages).flatMap((row) => {
    if (row.type === 'message') return [row.message.seq]
    if (row.type === 'end') return [row.turn.end!.seq]
    return 'seq' in row ? [row.seq] : []
  })
}

studioTest(
  'the transcript of any event is the view of a fork at that event, also in a fork',
  async () => {
    const last = await lived('slide')
    const ticket = conversation('slide')
    expect((await ticket.modelCalls()).some(({ turnRef }) => turnRef.startsWith('summary/'))).toBe(true)
    const types = new Set((await ticket.events({ after: 0, limit: 1_000 })).map(({ type }) => type))
    expect([...types]).toEqual(expect.arrayContaining(['superseded', 'cancel_requested', 'resolution']))
    const page = await studio.open('/conversations/slide')
    await slideBack(page, ticket, last)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()

    const fork = conversation('slide-fork')
    expect((await fork.lineage())[0]).toEqual({ id: 'slide', at: 4 })
    await page.goto(`${studio.url}/studio/conversations/slide-fork`)
    await slideBack(page, fork, (await fork.view()).seq)
  },
  // Each event is a fork on the server and a picture on the page; on a busy machine that takes long.
  120_000,
)

/** Goes back by one event at a time to the first one. Each time the page is compared with the server. */
async function slideBack(page: Page, ticket: Ticket, last: number): Promise<void> {
  const slider = page.getByRole('slider', { name: 'The moment that is shown' })
  const { views } = openLog(studio.client(), ticket.id, last)
  await slider.focus()
  for (let at = last - 1; at >= 1; at--) {
    await page.keyboard.press('ArrowLeft')
    await page.getByText(`As it was after event ${at} of ${last}.`).waitFor()
    await page.locator(`[role=log][data-seq="${at}"]`).waitFor()
    const view = await serverAt(ticket, at)
    const folded = await views.at(at)
    expect(told(folded, beginOf(view)), `event ${at}`).toEqual(told(view))
    const lines = linesOf(folded)
    const isShown = (shown: readonly Shown[]): boolean =>
      shown.length > 0 && shown.map(({ seq }) => seq).join() === lines.slice(-shown.length).join()
    await expect.poll(() => linesOnPage(page), { message: `event ${at}` }).toSatisfy(isShown)
    expect(differing(await linesOnPage(page), view), `event ${at}`).toEqual([])
    const header = page.getByRole('region', { name: 'Conversation' }).locator('header').first()
    expect(await header.textContent(), `event ${at}`).toContain(view.phase)
    if (view.pending.length > 0) {
      await page.getByRole('tab', { name: 'State' }).click()
      await page.getByText('Waiting calls (1)').waitFor()
      await slider.focus()
    }
  }
}

studioTest('a click in the timeline selects in the log and the transcript, and the search finds it', async () => {
  await lived('select')
  const page = await studio.open('/conversations/select')
  const wait = page.getByRole('button', { name: /refund.*answered by ann/ })
  await wait.locator('[aria-hidden]').getByText('answered by ann', { exact: true }).waitFor()
  await wait.click()
  const event = page.getByRole('region', { name: /^Event \d+$/ })
  await event.getByText('resolution').or(event.getByText('suspension')).first().waitFor()
  await page.locator('article.bg-selected', { hasText: 'cents 4500' }).waitFor()
  await page.getByRole('tab', { name: 'Log' }).click()
  const chosen = page.getByRole('option', { selected: true })
  await chosen.getByText('suspension').waitFor()
  await page.getByRole('searchbox', { name: 'Search the log' }).fill('type:resolution who:ann')
  await page.getByText('2 found').waitFor()
  await page.getByRole('option', { name: /approval resolved by ann, edited/ }).click()
  await event.getByText('4500').waitFor()
  expect(new URL(page.url()).searchParams.get('find')).toBe('type:resolution who:ann')
  await page.reload()
  await page.getByText('2 found').waitFor()
  await page.getByRole('tab', { name: 'Model calls' }).click()
  await page.getByRole('figure', { name: 'Token budget' }).waitFor()
  await page.getByText(/\d+ added, \d+ changed, \d+ removed/).waitFor()
})

studioTest('a fork from an event is one click, and compares with where it came from', async () => {
  const { client, open } = studio
  const ticket = client().conversation('branch', { agent: 'support' })
  await ticket.outcome((await ticket.send('First question')).turnId)
  await ticket.outcome((await ticket.send('Second question')).turnId)
  const page = await open('/conversations/branch?at=3')
  await page.getByText('As it was after event 3').waitFor()
  await page.getByRole('button', { name: 'Fork from here' }).filter({ hasText: 'Fork from here' }).click()
  await page.waitForURL((url) => !url.pathname.endsWith('/branch'))
  const id = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
  const fork = client().conversation(id)
  expect((await fork.lineage())[0]).toEqual({ id: 'branch', at: 3 })
  await fork.outcome((await fork.send('Second question')).turnId)
  await page.getByRole('button', { name: 'Compare' }).click()
  const dialog = page.getByRole('dialog', { name: 'Compare' })
  await dialog.getByText('They are the same up to event 3.').waitFor()
  const answers = dialog.getByRole('region', { name: 'Answers' })
  expect([await answers.locator('ins').count(), await answers.locator('del').count()]).toEqual([1, 1])
})

studioTest('an export opens without a network, and shows the same', async () => {
  await lived('exported')
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
  await expect.poll(() => transcript(page), { timeout: 10_000 }).toEqual(await transcript(live))
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
  await page.getByLabel('Export file').setInputFiles(path)
  await page.getByText('You have your money back.').first().waitFor()
  await expect.poll(() => transcript(page), { timeout: 10_000 }).toEqual(await transcript(live))
  await page.getByRole('tab', { name: 'Model calls' }).click()
  await page.getByRole('figure', { name: 'Token budget' }).waitFor()
})

studioTest('of a conversation with a summary the older messages are there without scrolling', async () => {
  await lived('summed')
  const { before } = await conversation('summed').view()
  expect(before).not.toBeNull()
  const page = await studio.open('/conversations/summed')
  const log = page.getByRole('log', { name: 'Transcript' })
  await log.getByText('You have your money back.').waitFor()
  // A tall window has room for all of it.
  await page.setViewportSize({ width: 1440, height: 3_000 })
  await log.getByText('Tell me a long story', { exact: true }).waitFor()
  expect(await log.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)).toBe(0)
})

// Last: an export of the store would have all of it.
studioTest(
  'a log of more than a thousand events slides and scrolls back to its beginning',
  { timeout: 120_000 },
  async () => {
    const wordyOne = studio.runtime!.conversation('thousand', { agent: 'wordy' })
    for (let n = 0; n < 345; n += 1) await (await wordyOne.send(`Question ${n}`)).outcome()
    const ticket = conversation('thousand')
    const { seq, before } = await ticket.view()
    expect(before).not.toBeNull()
    expect(seq).toBeGreaterThan(1_010)
    const { views } = openLog(studio.client(), 'thousand', seq)
    for (const at of [1, 999, 1_000, 1_001, seq - 1]) {
      const view = await serverAt(ticket, at)
      expect(told(await wholeView(ticket, await views.at(at)), beginOf(view)), `event ${at}`).toEqual(told(view))
    }
    const page = await studio.open('/conversations/thousand?at=1005')
    const asked: string[] = []
    page.on('request', (request) => void asked.push(request.url()))
    await page.reload()
    await page.locator('[role=log][data-seq="1005"]').waitFor()
    expect(asked.filter((url) => url.includes('view?at=1000'))).toHaveLength(1)
    expect(asked.filter((url) => /\/live(\?|$)/.test(url))).toHaveLength(1)
    const log = page.getByRole('log', { name: 'Transcript' })
    await expect
      .poll(
        async () => {
          await log.evaluate((scroller) => scroller.scrollTo(0, 0))
          return page.getByText('Question 0', { exact: true }).count()
        },
        { timeout: 20_000 },
      )
      .toBe(1)
  },
)
