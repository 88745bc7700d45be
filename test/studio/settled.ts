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
