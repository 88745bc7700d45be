import type { Page } from 'playwright-core'

/** Resolves when a page shows what it was opened for: nothing in it says that it is loading, and its text has stopped changing. */
export async function settled(page: Page): Promise<void> {
  await page.locator('#root > *').first().waitFor()
  await page.waitForFunction(
    () => {
      const loading = document.querySelector('[aria-busy=true], [aria-label="Loading"]')
      const seen = globalThis as unknown as { lastText?: string; sameFor?: number }
      const text = document.body.textContent!.replaceAll(/\d+ (s|m)\b|\bnow\b/g, '')
      const isSame = text === seen.lastText && !loading && !text.includes('Loading') && text.trim() !== ''
      seen.lastText = text
      seen.sameFor = isSame ? (seen.sameFor ?? 0) + 1 : 0
      return seen.sameFor >= 4
    },
    null,
    { polling: 60 },
  )
}

/** A person looks at what is shown before they answer: longer than the studio asks for, by the clock of the page, which is as late as the page itself on a busy machine. */
export async function looked(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 800)))
}

/**
 * Stops the clock by which the page knows how long something has been shown, so that what must come at once is at once, however busy the machine is.
 * Returns what lets it go on.
 */
export async function withoutTime(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(() => {
    const now = performance.now()
    performance.now = () => now
  })
  return () => page.evaluate(() => void Reflect.deleteProperty(performance, 'now'))
}
