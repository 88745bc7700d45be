import type { Browser } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { whichBrowser } from '../support/browser/find-browser.ts'
import { launchBrowser, noBrowser } from '../support/browser/launch-browser.ts'
import { type PageOptions, type StudioPage, studioPage } from './studio-page.ts'

const found = whichBrowser()
if (!found) console.warn(`Skipped: ${noBrowser}`)

/** Skipped, with a warning, on machines without a browser. */
export const studioTest = found ? test : test.skip

/** Shared by all files that this process runs. It ends with the process. */
let browser: Promise<Browser> | null = null

export type OpenedPages = {
  /** Opens an empty page that is signed in at the server at `url`. */
  open(url: string, options?: PageOptions): Promise<StudioPage>
  /**
   * Runs a part of a test with a server that ends with it. The pages are closed first: a page asks until it is closed, and would report that its server refuses
   * connections.
   */
  during<Result>(server: { close(): unknown }, use: () => Promise<Result>): Promise<Result>
}

/** The pages that each test of a file opens. They are closed after it, and the test fails for everything that went wrong on them. */
export function openedPages(): OpenedPages {
  let opened: StudioPage[] = []
  const closeAll = async (): Promise<void> => {
    await Promise.all(opened.map(({ context }) => context.close()))
  }
  afterEach(async () => {
    const closed = opened
    await closeAll()
    opened = []
    expect(closed.flatMap(({ problems }) => problems)).toEqual([])
  })
  return {
    async open(url, options) {
      browser ??= launchBrowser(found)
      const one = await studioPage(await browser, url, options)
      opened.push(one)
      return one
    },
    async during(server, use) {
      try {
        return await use()
      } finally {
        await closeAll()
        await server.close()
      }
    },
  }
}
