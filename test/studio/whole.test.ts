import type { Authorize } from 'perdure'
import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { fillWorld, world } from './look-world.ts'
import { openExport } from './open-export.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { emptyPages, everyPage } from './pages.ts'
import { settled } from './settled.ts'
import { tooWide } from './too-wide.ts'

/** Mallory may see nothing that others opened. Everyone else sees all, and so how much there is. */
const authorize: Authorize = ({ scope }) => (scope.user === 'mallory' ? { owner: 'mallory' } : 'all')
const studio = openStudio({ ...world, authorize })
const notFound = [/status of 404/]

beforeAll(async () => {
  if (studio.runtime) await fillWorld(studio.runtime)
})

studioTest('at the width of a phone no page scrolls sideways', async () => {
  const page = await studio.open('/inbox', { width: 390, expected: [...notFound, /status of 401/] })
  const wide: string[] = []
  const look = async (what: string): Promise<void> => {
    await settled(page)
    wide.push(...(await tooWide(page)).map((element) => `${what}: ${element}`))
  }
  for (const path of [...everyPage, ...emptyPages]) {
    await page.goto(`${studio.url}/studio${path}`)
    await look(path)
  }
  for (const path of ['/conversations/ticket-48', '/conversations', '/flows']) {
    await page.goto(`${studio.url}/studio/open${path}`)
    await openExport(page, studio.url)
    await look(`a file at ${path}`)
  }
  await page.context().clearCookies()
  await page.goto(`${studio.url}/studio/inbox`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await look('the sign-in')
  expect(wide).toEqual([])
})

studioTest(
  'at rest amber is the only colour, in both themes: what runs, failed or is a session has its own',
  async () => {
    const found: string[] = []
    for (const dark of [false, true]) {
      const page = await studio.open('/inbox', { dark, expected: notFound })
      for (const path of calmPages) {
        await page.goto(`${studio.url}/studio${path}`)
        await settled(page)
        found.push(...(await page.evaluate(loud)).map((element) => `${path}: ${element}`))
      }
    }
    expect(found).toEqual([])
  },
)

const calmPages = [
  '/inbox',
  ...['', '?tab=log', '?tab=state', '?tab=forks'].map((tab) => `/conversations/ticket-48${tab}`),
  '/conversations/ticket-48?at=3&tab=log',
  '/conversations/garden',
  '/flows?status=failed',
  '/open',
  '/nowhere',
]

/** The elements on screen that have a colour, and not that of what waits. Those that say a state by an icon and a word may. */
function loud(): string[] {
  // However a style sheet writes a colour, a canvas has it in red, green and blue.
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
  const known = new Map<string, boolean>()
  const isLoud = (colour: string): boolean => {
    const before = known.get(colour)
    if (before !== undefined) return before
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data
    const isGrey = Math.max(red, green, blue) - Math.min(red, green, blue) < 30
    const isAmber = red > green && green > blue && green - blue > (red - green) / 3
    known.set(colour, !isGrey && !isAmber)
    return !isGrey && !isAmber
  }
  const found: string[] = []
  for (const element of document.body.querySelectorAll('*')) {
    const style = getComputedStyle(element)
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue!.trim() !== '')
    const isState = element.closest('.text-session, .text-running, .text-failed, .text-done') !== null
    const drawn = [
      ...((hasText || element.closest('svg')) && !isState ? [style.color] : []),
      ...(style.borderTopWidth === '0px' ? [] : [style.borderTopColor]),
      ...(style.borderBottomWidth === '0px' ? [] : [style.borderBottomColor]),
      ...(element.matches(':checked') ? [style.accentColor] : []),
      style.backgroundColor,
    ]
    if (element.checkVisibility() && drawn.some(isLoud)) found.push(element.outerHTML.slice(0, 160))
  }
  return found
}

studioTest('every page can be reached and used by keyboard', async () => {
  const page = await studio.open('/health', { expected: notFound })
  await settled(page)
  for (const [key, path] of [
    ['2', '/conversations'],
    ['3', '/flows'],
    ['4', '/health'],
    ['1', '/inbox'],
  ] as const) {
    await page.keyboard.press(key)
    await page.waitForURL(`**/studio${path}*`)
  }
  await page.keyboard.press('3')
  await page.getByRole('link', { name: /return-1/ }).waitFor()

  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keys and more' })
  await help.getByText('Search conversations and sessions').waitFor()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })

  await page.keyboard.press('/')
  const search = page.getByRole('combobox', { name: 'Title or id' })
  await search.fill('READING')
  await page
    .getByRole('option', { name: /Refund of the reading lamp/ })
    .first()
    .waitFor()
  // Its fork may have the same title.
  const chosen = page.getByRole('dialog').getByRole('option', { selected: true })
  while ((await chosen.textContent())?.includes('fork')) await search.press('ArrowDown')
  await search.press('Enter')
  await page.waitForURL('**/studio/conversations/ticket-48*')
  await expect.poll(() => page.title()).toMatch(/^\(\d+\) Refund of the reading lamp · Perdure$/)

  const missed: string[] = []
  for (const path of everyPage) {
    await page.goto(`${studio.url}/studio${path}`)
    await settled(page)
    missed.push(...(await notTabbed(page)).map((element) => `${path}: ${element}`))
  }
  expect(missed).toEqual([])

  await page.goto(`${studio.url}/studio/flows`)
  await settled(page)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('page')
})

/** Presses Tab until the focus comes back; returns the buttons, links and fields on screen that it never stopped at. */
async function notTabbed(page: Page): Promise<string[]> {
  const total = await page.evaluate(() => {
    const usable = [
      ...document.querySelectorAll<HTMLElement>('a[href], button, input, select, textarea, summary'),
    ].filter((element) => element.checkVisibility() && !element.matches(':disabled, [tabindex="-1"]'))
    for (const element of usable) element.dataset['usable'] = ''
    addEventListener('focusin', ({ target }) => (target as HTMLElement).removeAttribute('data-usable'))
    return usable.length
  })
  for (let pressed = 0; pressed < total + 20; pressed += 1) await page.keyboard.press('Tab')
  return page.evaluate(() =>
    // Of a group of radio buttons or tabs, Tab stops at one, and arrows move on.
    [...document.querySelectorAll('[data-usable]:not([type=radio], [role=tab])')].map((element) =>
      element.outerHTML.slice(0, 160),
    ),
  )
}

studioTest('eight tabs stay live: a visible one holds one stream, and hidden ones none', async () => {
  const first = await studio.open('/conversations/eight')
  const context = first.context()
  const client = studio.client()
  const say = async (text: string): Promise<void> => {
    await client.conversation('eight', { agent: 'support' }).send(text)
  }
  await say('One')
  const tabs = [first]
  const streams = new Map<Page, Set<unknown>>()
  const count = (page: Page): void => {
    const open = new Set<unknown>()
    streams.set(page, open)
    page.on('request', (request) => {
      if (request.headers()['accept'] === 'text/event-stream') open.add(request)
    })
    page.on('requestfinished', (request) => void open.delete(request))
    page.on('requestfailed', (request) => void open.delete(request))
  }
  for (let tab = 1; tab < 8; tab += 1) tabs.push(await context.newPage())
  for (const page of tabs) {
    count(page)
    await page.goto(`${studio.url}/studio/conversations/eight`)
    await page.getByText('One', { exact: true }).first().waitFor()
    await show(page, false)
  }
  await expect.poll(() => [...streams.values()].map(({ size }) => size)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  for (const [index, page] of [tabs[7]!, tabs[0]!, tabs[3]!].entries()) {
    await show(page, true)
    await say(`Said while tab ${index} is shown`)
    await page.getByText(`Said while tab ${index} is shown`).first().waitFor()
    expect([...streams.values()].map(({ size }) => size).filter((size) => size > 0)).toEqual([1])
    await show(page, false)
    await expect.poll(() => streams.get(page)!.size).toBe(0)
  }
  await Promise.all(tabs.slice(1).map((page) => page.close()))
})

async function show(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate(
    (visibilityState) => {
      Object.defineProperty(document, 'visibilityState', { value: visibilityState, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    },
    isShown ? 'visible' : 'hidden',
  )
}

const secrets = /ticket-4\d|return-[12]|reading lamp|My lamp is broken|o-17/

studioTest("a tenant's user sees nothing of another tenant on any page", async () => {
  const page = await studio.open('/inbox', { user: 'zoe', tenant: 'other', expected: notFound })
  for (const path of everyPage) {
    await page.goto(`${studio.url}/studio${path}`)
    await settled(page)
    expect(withoutAddress((await page.locator('body').textContent())!, path)).not.toMatch(secrets)
  }
})

studioTest('who is refused by authorize sees what does not exist', async () => {
  const page = await studio.open('/inbox', { user: 'mallory', expected: notFound })
  for (const path of ['/inbox', '/conversations', '/flows']) {
    await page.goto(`${studio.url}/studio${path}`)
    await settled(page)
    expect((await page.locator('body').textContent())!).not.toMatch(secrets)
  }
  for (const [theirs, none] of [
    ['/conversations/ticket-48?tab=log', '/conversations/no-such?tab=log'],
    ['/flows/return/return-1', '/flows/return/no-such-1'],
  ] as const) {
    await page.goto(`${studio.url}/studio${theirs}`)
    await settled(page)
    const refused = withoutAddress((await page.locator('main').textContent())!, theirs)
    await page.goto(`${studio.url}/studio${none}`)
    await settled(page)
    expect(refused).toBe(withoutAddress((await page.locator('main').textContent())!, none))
  }
})

/** A page may repeat the id that its address names. */
function withoutAddress(text: string, path: string): string {
  const id = path.split('?')[0]!.split('/').at(-1)!
  return text.replaceAll(id, '')
}
