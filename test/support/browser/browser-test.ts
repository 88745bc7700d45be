import type { Page } from 'playwright-core'
import { test } from 'vitest'
import { whichBrowser } from './find-browser.ts'
import { launchBrowser, noBrowser } from './launch-browser.ts'

const found = whichBrowser()
if (!found) console.warn(`Skipped: ${noBrowser}`)

/** `browser`: one for each file. `page`: with cookies and storage of its own; what it throws and does not catch fails the test. */
const withBrowser = test
  .extend('from', { scope: 'file' }, found)
  .extend('browser', { scope: 'file' }, async ({ from }, { onCleanup }) => {
    const browser = await launchBrowser(from)
    onCleanup(() => browser.close())
    return browser
  })
  .extend('page', async ({ browser }, { onCleanup }): Promise<Page> => {
    const context = await browser.newContext()
    const page = await context.newPage()
    const thrown: Error[] = []
    page.on('pageerror', (error) => thrown.push(error))
    onCleanup(async () => {
      await context.close()
      if (thrown.length > 0) throw new AggregateError(thrown, `the page threw: ${thrown.map(String).join('; ')}`)
    })
    return page
  })

/** A test with a `page` of a real browser. Skipped, with a warning, on machines without one. */
export const browserTest = found ? withBrowser : withBrowser.skip
