// @vitest-environment happy-dom
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Page } from '../../examples/use-chat/page.tsx'

const root = join(import.meta.dirname, '..', '..')
const patience = { timeout: 25_000 }
let folder = ''
let server: ChildProcess
let port = '0'

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-'))
  port = '0'
  await start()
})
afterEach(async () => {
  await stop('SIGINT')
  rmSync(folder, { recursive: true })
})

test('the page streams an answer, asks for approval, and shows what came of it', async () => {
  const page = open()
  await page.say('Hello')
  await page.shows('Say "refund" and see.')
  await page.say('A refund, please')
  await page.shows('Refund 49.00 EUR for order o-17')
  await page.press('Approve')
  await page.shows('You have your money back.')
  page.close()
})

test('what waits for approval is on the page again after the server was killed, and is answered there', async () => {
  const before = open()
  await before.say('A refund, please')
  await before.shows('Approve')
  await before.isReady()
  before.close()
  await stop('SIGKILL')
  await start()
  const after = open()
  await after.shows('A refund, please')
  await after.press('Deny')
  await after.shows('Then I leave it as it is.')
  after.close()
})

/** A process of its own: in this one the web platform is that of a browser. */
async function start(): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', '--import', join(root, 'test/support/perdure-from-source.ts')]
  server = spawn(process.execPath, [...args, join(root, 'examples/use-chat/server.ts')], {
    cwd: folder,
    env: { ...process.env, PORT: port, ORIGIN: window.location.origin },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(server.stdout!, 'data')
  port = /:(\d+)\s*$/.exec(String(line))![1]!
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const exited = once(server, 'exit')
  server.kill(signal)
  await exited
}

/** The page as a user sees it. */
function open() {
  const container = document.createElement('div')
  document.body.append(container)
  const mounted = createRoot(container)
  mounted.render(createElement(Page, { url: `http://127.0.0.1:${port}/ui/support`, id: 'ticket-42' }))
  const find = <T extends Element>(selector: string, text = ''): Promise<T> =>
    vi.waitFor(() => {
      const element = [...container.querySelectorAll<T>(selector)].find(({ textContent }) =>
        textContent?.includes(text),
      )
      if (!element) throw new Error(`There is no ${selector} '${text}' in ${container.innerHTML}`)
      return element
    }, patience)
  return {
    async say(text: string) {
      const input = await find<HTMLInputElement>('input:not([disabled])')
      input.value = text
      input.form!.requestSubmit()
    },
    isReady: () => find('input:not([disabled])'),
    press: async (label: string) => (await find<HTMLButtonElement>('fieldset:not([disabled]) button', label)).click(),
    shows: (text: string) => vi.waitFor(() => expect(container.textContent).toContain(text), patience),
    close() {
      mounted.unmount()
      container.remove()
    },
  }
}
