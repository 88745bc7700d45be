import { defineAgent } from 'perdure'
import { scriptedModel } from 'perdure/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { rowsOf } from '../../studio/conversation/rows.ts'
import { EventLog } from '../../studio/inspector/event-log.ts'
import { emptyView, PastViews } from '../../studio/inspector/past-views.ts'
import { lived, support } from './lived-world.ts'
import { openStudio, studioTest } from './open-studio.ts'

/** Says so much that a view has only the newest of a thousand events. */
const wordy = defineAgent({
  name: 'wordy',
  context: { workingBudget: 3_000, injectionReserve: 100 },
  model: scriptedModel(() => 'Lamps need light. '.repeat(250)),
})

const studio = openStudio({ agents: [support, wordy] })

/** The moments of a log, folded as the page does it. */
function openLog(client: ReturnType<typeof studio.client>, id: string, last: number) {
  const handle = client.conversation(id)
  const log = new EventLog((range) => handle.events(range))
  log.grow(last)
  return { views: new PastViews(log, async (at) => (at === 0 ? emptyView(id) : handle.view({ at }))) }
}

const conversation = (id: string) => studio.client().conversation(id, { agent: 'support' })

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

studioTest('the transcript of any event is the view of a fork at that event, also in a fork', async () => {
  const last = await lived(conversation('slide'))
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
})

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
  await lived(conversation('select'))
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

studioTest('an event has a link, and says what later prompts made of its message', async () => {
  await lived(conversation('linked'))
  const page = await studio.open('/conversations/linked?tab=log&event=1')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const event = page.getByRole('region', { name: 'Event 1', exact: true })
  await event.getByRole('button', { name: 'Later prompts' }).click()
  await event.getByText('in full').first().waitFor()
  await event.getByText('in the summary only').first().waitFor()
  await event.getByRole('button', { name: 'Copy a link to this event' }).click()
  const read = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(read).toBe(`${studio.url}/studio/conversations/linked?tab=log&event=1`)
  await page.goto(await read())
  await event.getByText('Tell me a long story').waitFor()
  // Back is where the person was: the prompt that they went to, and then the event.
  await event.getByRole('button', { name: 'Later prompts' }).click()
  await event
    .getByRole('button', { name: /^\d+ prompts?$/ })
    .last()
    .click()
  await page.getByRole('figure', { name: 'Token budget' }).waitFor()
  await page.goBack()
  await page.getByRole('tab', { name: 'Log', selected: true }).waitFor()
  await event.getByText('Tell me a long story').waitFor()
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

studioTest('of a conversation with a summary the older messages are there without scrolling', async () => {
  await lived(conversation('summed'))
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

studioTest('a log of more than a thousand events slides and scrolls back to its beginning', async () => {
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
  // Counts from the first request on.
  const page = await (await studio.open('/open')).context().newPage()
  const asked: string[] = []
  page.on('request', (request) => void asked.push(request.url()))
  await page.goto(`${studio.url}/studio/conversations/thousand?at=1005`)
  await page.locator('[role=log][data-seq="1005"]').waitFor()
  expect(asked.filter((url) => url.includes('view?at=1000'))).toHaveLength(1)
  expect(asked.filter((url) => /\/live(\?|$)/.test(url))).toHaveLength(1)
  const log = page.getByRole('log', { name: 'Transcript' })
  await expect
    .poll(async () => {
      await log.evaluate((scroller) => scroller.scrollTo(0, 0))
      return page.getByText('Question 0', { exact: true }).count()
    })
    .toBe(1)
})
