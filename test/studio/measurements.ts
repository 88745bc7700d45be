import type { Browser, Page } from 'playwright-core'
import { conversations, deltasPerSecond, longLog, written } from './figures-world.ts'
import { countFirstLoad } from './first-load.ts'
import { studioPage } from './studio-page.ts'
import type { StudioServer } from './studio-server.ts'

type Measure = (browser: Browser, server: StudioServer) => Promise<Record<string, number>>

/** What each figure must be. Those that are not named are only told. */
export const limits: Readonly<Record<string, (figure: number) => boolean>> = {
  firstLoadKB: (kB) => kB <= 220,
  listRows: (rows) => rows === conversations,
  listBlankFrames: (frames) => frames === 0,
  longOpensMs: (ms) => ms < 1_000,
  slideMedianMs: (ms) => ms < 50,
  // What the model really wrote while frames were counted: a slower one would show nothing.
  deltasPerSecond: (deltas) => deltas >= 0.95 * deltasPerSecond,
  framesPerSecond: (frames) => frames >= 30,
  textBehindMs: (ms) => ms < 1_000,
}

/** What `npm run studio:figures` can measure, by name. */
export const measurements: Readonly<Record<string, Measure>> = {
  size: async (browser, { url }) => {
    const { page, context } = await studioPage(browser, url)
    const size = countFirstLoad(page, `${url}/studio`)
    await page.goto(`${url}/studio/inbox`)
    await page.getByRole('main').getByText('waiting').first().waitFor()
    const firstLoadKB = round(size())
    await context.close()
    return { firstLoadKB }
  },

  list: async (browser, { url }) => {
    const { page, context } = await studioPage(browser, url)
    await page.goto(`${url}/studio/conversations`)
    await page.getByText('ticket-9999').first().waitFor()
    const { frames, blank, rows, ms } = await page.evaluate(scrollToEnd, conversations)
    await context.close()
    return { listRows: rows, listFrames: frames, listBlankFrames: blank, listScrollMs: round(ms) }
  },

  log: async (browser, { url }) => {
    const { page, context } = await studioPage(browser, url)
    // The files of the page are in the browser's cache, as they are for a person who comes from the list.
    await page.goto(`${url}/studio/conversations/ticket-1`)
    await page.getByText('xxxx').first().waitFor()
    const since = performance.now()
    await page.goto(`${url}/studio/conversations/long`)
    await page.getByText('xxxx').last().waitFor()
    const longOpensMs = round(performance.now() - since)
    const again = performance.now()
    await page.reload()
    await page.getByText('xxxx').last().waitFor()
    const longOpensAgainMs = round(performance.now() - again)
    const steps = await slide(page)
    await context.close()
    return {
      longEvents: longLog,
      longOpensMs,
      longOpensAgainMs,
      slideMedianMs: round(median(steps)),
      slideMostMs: round(Math.max(...steps)),
    }
  },

  text: async (browser, { url, runtime }) => {
    const { page, context } = await studioPage(browser, url)
    await runtime.conversation('fast', { agent: 'support' }).send('8')
    await page.goto(`${url}/studio/conversations/fast`)
    await page.getByText('word1').first().waitFor()
    const [before, since] = [written.deltas, performance.now()]
    const framesPerSecond = round(await page.evaluate(countFrames, 4_000))
    const perSecond = round(((written.deltas - before) / (performance.now() - since)) * 1_000)
    const shown = await page.evaluate(lastWord)
    const textBehindMs = round(Math.max(0, ((written.deltas - shown) / deltasPerSecond) * 1_000))
    await context.close()
    return { deltasPerSecond: perSecond, framesPerSecond, textBehindMs }
  },
}

/** Scrolls three screens a second times twenty until the end, and looks at each frame whether there is a row in the middle of the list. */
async function scrollToEnd(total: number) {
  const scrolls = (element: Element): boolean => {
    const { overflowY } = getComputedStyle(element)
    return (overflowY === 'auto' || overflowY === 'scroll') && element.scrollHeight > element.clientHeight
  }
  const list = [...document.querySelectorAll('main, main *')].find(scrolls)
  if (!list) throw new Error('the list does not scroll')
  const box = list.getBoundingClientRect()
  const hasRow = (part: number): boolean => {
    const found = document.elementFromPoint(box.left + box.width / 2, box.top + box.height * part)
    return found?.closest('a, li, [role=row], [role=option]') != null && list.contains(found)
  }
  const since = performance.now()
  let frames = 0
  let blank = 0
  let still = 0
  while (still < 60) {
    const before = list.scrollTop
    list.scrollTop = before + box.height * 2
    await new Promise((resolve) => requestAnimationFrame(resolve))
    await new Promise((resolve) => setTimeout(resolve, 0))
    frames += 1
    if (![0.1, 0.5, 0.9].every(hasRow)) blank += 1
    still = list.scrollTop === before ? still + 1 : 0
    if (list.textContent?.includes('ticket-0') && still > 2) break
    if (performance.now() - since > 90_000) break
  }
  const rows = list.textContent?.includes('ticket-0') ? total : -1
  return { frames, blank, rows, ms: performance.now() - since }
}

/** Moves the slider by keys, once to load what is before it and then step by step; how long each step takes until it is painted. */
async function slide(page: Page): Promise<number[]> {
  const slider = page.getByRole('slider', { name: 'The moment that is shown' })
  await slider.focus()
  await page.keyboard.press('ArrowLeft')
  await page.locator(`[role=log][data-seq="${longLog - 1}"]`).waitFor()
  const steps: number[] = []
  for (let step = 2; step <= 21; step += 1) steps.push(await page.evaluate(timeOfStep, longLog - step))
  return steps
}

/** One step back: from the key until the frame that shows the transcript of that moment. */
async function timeOfStep(seq: number): Promise<number> {
  const slider = document.querySelector('[role=slider][aria-label="The moment that is shown"]')
  const log = document.querySelector<HTMLElement>('[role=log]')
  if (!slider || !log) throw new Error('there is no slider, or no transcript')
  const since = performance.now()
  slider.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }))
  while (log.dataset['seq'] !== String(seq)) {
    if (performance.now() - since > 10_000)
      throw new Error(`the transcript is that of ${log.dataset['seq']}, not ${seq}`)
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  await new Promise((resolve) => requestAnimationFrame(resolve))
  await new Promise((resolve) => setTimeout(resolve, 0))
  return performance.now() - since
}

/** The newest word of the model that is on the page. */
function lastWord(): number {
  const words = document.querySelector('[role=log]')?.textContent?.match(/word\d+/g) ?? []
  return Math.max(0, ...words.slice(-200).map((word) => Number(word.slice('word'.length))))
}

async function countFrames(ms: number): Promise<number> {
  const since = performance.now()
  let frames = 0
  while (performance.now() - since < ms) {
    await new Promise((resolve) => requestAnimationFrame(resolve))
    frames += 1
  }
  return (frames / (performance.now() - since)) * 1_000
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)]!
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
