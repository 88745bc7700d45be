import { type Browser, chromium } from 'playwright-core'
import { browserProgram, type FoundBrowser, whichBrowser } from './find-browser.ts'

/** Starts a browser. Takes a tenth of a second, and two more when the browser is unpacked first. Throws where there is none. */
export async function launchBrowser(found: FoundBrowser | null = whichBrowser()): Promise<Browser> {
  if (!found) throw new Error(noBrowser)
  const { path, env } = await browserProgram(found)
  return chromium.launch({
    executablePath: path,
    // Not the arguments that the package recommends: they switch off the security of the web.
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--no-first-run'],
    env: { ...process.env, ...env } as Record<string, string>,
  })
}

export const noBrowser =
  'There is no browser for the tests of pages. Install Chrome, or set PERDURE_BROWSER to the path of a Chromium.'
