import type { Browser, BrowserContext, Page } from 'playwright-core'
import { assertEqual, type Case, until } from './cases.ts'
import { type NextServer, nextServer } from './next-process.ts'
import type { App } from './server-cases.ts'

export type Chat = App & {
  readonly browser: Browser
  server: NextServer
}

/** What a person does with `useChat` in a real browser. Each case has a conversation of its own. */
export const chatCases: readonly Case<Chat>[] = [
  {
    name: 'an answer streams into the page',
    run: (chat) =>
      inTab(chat, 'streams', async (page) => {
        await say(page, 'slow 20')
        await shows(page, 'word-3')
        assertEqual(await textOf(page).then((text) => text.includes('done.')), false, 'the answer was there at once')
        await shows(page, answer(20))
        assertEqual(await countOf(page, answer(20)), 1, 'answers')
      }),
  },
  {
    name: 'an approval is asked for, given, and the refund is paid once',
    run: (chat) =>
      inTab(chat, 'approves', async (page) => {
        await say(page, 'refund')
        await shows(page, 'Refund 49.00 EUR for order o-17')
        await page.getByRole('button', { name: 'Approve' }).click()
        await shows(page, 'You have your money back.')
        assertEqual(paid(chat, 'approves'), 1, 'refunds')
      }),
  },
  {
    name: 'an answer that was cut off at its length says so, also after a reload',
    run: (chat) =>
      inTab(chat, 'cut-off', async (page) => {
        await say(page, 'a tale')
        await shows(page, 'Once upon aThis answer was cut off (length).')
        await page.reload()
        await shows(page, 'Once upon aThis answer was cut off (length).')
      }),
  },
  {
    name: 'an answer is stopped, and the next message is answered',
    run: (chat) =>
      inTab(chat, 'stops', async (page) => {
        await say(page, 'slow 300')
        await shows(page, 'word-3')
        await page.getByRole('button', { name: 'Stop' }).click()
        await say(page, 'hello 1')
        await shows(page, 'You said hello 1.')
        assertEqual(await textOf(page).then((text) => text.includes('done.')), false, 'the stopped answer went on')
      }),
  },
  {
    name: 'a page that is reloaded in mid-stream shows the whole answer once',
    run: (chat) =>
      inTab(chat, 'reloads', async (page) => {
        await say(page, 'slow 40')
        await shows(page, 'word-5')
        await page.reload()
        await shows(page, answer(40))
        assertEqual(await countOf(page, answer(40)), 1, 'answers')
        assertEqual(await countOf(page, 'slow 40'), 1, 'questions')
      }),
  },
  {
    name: 'a route change in mid-stream cancels nothing, and the page shows the whole answer once',
    run: (chat) =>
      inTab(chat, 'routes', async (page) => {
        await say(page, 'slow 40')
        await shows(page, 'word-5')
        await page.evaluate(() => (globalThis as unknown as RoutedWindow).next.router.push('/elsewhere'))
        await shows(page, 'Elsewhere')
        // Longer than a stop waits for a page that is mounted again.
        await page.waitForTimeout(500)
        await page.goBack()
        await shows(page, answer(40))
        assertEqual(await countOf(page, answer(40)), 1, 'answers')
        assertEqual(await countOf(page, 'slow 40'), 1, 'questions')
      }),
  },
  {
    name: 'a second tab shows what the first one asked, while it is written and afterwards',
    run: (chat) =>
      inTab(chat, 'two-tabs', async (first, context) => {
        await say(first, 'slow 40')
        await shows(first, 'word-3')
        const second = await open(chat, context, 'two-tabs')
        await shows(second, answer(40))
        await shows(first, answer(40))
        assertEqual(
          [await countOf(first, answer(40)), await countOf(second, answer(40))],
          [1, 1],
          'answers in the tabs',
        )
      }),
  },
  {
    name: 'the server is killed while text streams and started again: the page has the whole answer once',
    run: (chat) =>
      inTab(chat, 'killed', async (page) => {
        await say(page, 'slow 40')
        await shows(page, 'word-5')
        await chat.server.stop('SIGKILL')
        chat.server = await nextServer('start', chat.folder, chat.env, chat.server.port)
        await shows(page, answer(40))
        assertEqual(await countOf(page, answer(40)), 1, 'answers')
      }),
  },
  {
    name: 'an answer is generated again, and the new one takes its place, also after a reload',
    run: (chat) =>
      inTab(chat, 'regenerates', async (page) => {
        await say(page, 'hello 1')
        await shows(page, 'That was answer-')
        const first = await answersIn(page)
        await page.getByRole('button', { name: 'Try again' }).click()
        await until('there is another answer', async () => differs(await answersIn(page), first))
        const second = await answersIn(page)
        await page.reload()
        await shows(page, 'That was answer-')
        assertEqual(await answersIn(page), second, 'the answers after a reload')
        assertEqual([second.length, await countOf(page, 'hello 1Edit')], [1, 1], 'answers and questions')
      }),
  },
  {
    name: 'a message is edited, and its answer replaces what followed, also after a reload',
    run: (chat) =>
      inTab(chat, 'edits', async (page) => {
        await say(page, 'hello 1')
        await shows(page, 'You said hello 1.')
        await say(page, 'hello 2')
        await shows(page, 'You said hello 2.')
        await page.getByRole('button', { name: 'Edit' }).first().click()
        await say(page, 'hello 3', page.getByPlaceholder('Say it differently'))
        await shows(page, 'You said hello 3.')
        await until('the earlier messages are gone', async () => !/hello [12]/.test(await textOf(page)))
        await page.reload()
        await shows(page, 'You said hello 3.')
        assertEqual(/hello [12]/.test(await textOf(page)), false, 'an earlier message came back')
      }),
  },
  {
    name: 'two tabs answer one approval: the first answer counts, and the second tab is told',
    run: (chat) =>
      inTab(chat, 'two-answers', async (first, context) => {
        await say(first, 'refund')
        await first.getByRole('button', { name: 'Approve' }).waitFor()
        const second = await open(chat, context, 'two-answers')
        // The answer of the second tab is on its way when the first one arrives.
        const isOnItsWay = Promise.withResolvers<void>()
        const mayArrive = Promise.withResolvers<void>()
        await second.route('**/api/agents/**', async (route) => {
          if (route.request().method() === 'POST') {
            isOnItsWay.resolve()
            await mayArrive.promise
          }
          await route.continue()
        })
        await second.getByRole('button', { name: 'Deny' }).click()
        await isOnItsWay.promise
        await first.getByRole('button', { name: 'Approve' }).click()
        await shows(first, 'You have your money back.')
        mayArrive.resolve()
        await shows(second, 'local answered first.')
        await shows(second, 'You have your money back.')
        assertEqual(paid(chat, 'two-answers'), 1, 'refunds')
      }),
  },
]

/** Next.js has its router there. */
type RoutedWindow = { readonly next: { readonly router: { push(path: string): void } } }

/** Opens a page, and fails when the page throws. */
async function inTab(
  chat: Chat,
  id: string,
  use: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  const context = await chat.browser.newContext()
  const thrown: string[] = []
  context.on('weberror', (error) => thrown.push(String(error.error())))
  try {
    await use(await open(chat, context, id), context)
    assertEqual(thrown, [], 'errors that the page did not catch')
  } finally {
    await context.close()
  }
}

async function open(chat: Chat, context: BrowserContext, id: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${chat.server.url}/?id=${id}`)
  await page.getByPlaceholder('Say something').waitFor()
  return page
}

async function say(page: Page, text: string, input = page.getByPlaceholder('Say something')): Promise<void> {
  await until('the page takes a message', () => input.isEnabled())
  await input.fill(text)
  await input.press('Enter')
}

async function shows(page: Page, text: string): Promise<void> {
  await until(`the page shows '${text}'`, async () => (await textOf(page)).includes(text)).catch(async (error) => {
    throw new Error(`${String(error)}\nIt shows:\n${await textOf(page)}`)
  })
}

async function textOf(page: Page): Promise<string> {
  return ((await page.locator('main').textContent()) ?? '').replaceAll(/\s+/g, ' ')
}

async function countOf(page: Page, text: string): Promise<number> {
  return (await textOf(page)).split(text).length - 1
}

function answer(words: number): string {
  return `${Array.from({ length: words }, (_, index) => `word-${index + 1} `).join('')}done.`
}

function paid({ effects }: App, id: string): number {
  return effects().filter((conversation) => conversation === id).length
}

async function answersIn(page: Page): Promise<string[]> {
  return (await textOf(page)).match(/answer-\d+/g) ?? []
}

function differs(answers: readonly string[], from: readonly string[]): boolean {
  return answers.length > 0 && answers.join() !== from.join()
}
