/**
 * `node test/studio/look.ts /inbox [--width 390] [--height 844] [--dark] [--press 'j,Enter'] [--user eve] [--wait 800]`: starts a server with the
 * demo's data, takes a picture of the page and prints its path, with everything that went wrong on the page.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const text = { type: 'string' } as const
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { width: text, height: text, dark: { type: 'boolean' }, press: text, user: text, wait: text },
})

// Examples and tests import the package by its name.
await import('../support/perdure-from-source.ts')
const { launchBrowser } = await import('../support/browser/launch-browser.ts')
const { buildStudio } = await import('./build-studio.ts')
const { filledServer } = await import('./look-world.ts')
const { studioPage } = await import('./studio-page.ts')

await buildStudio()
const folder = mkdtempSync(join(tmpdir(), 'perdure-look-'))
const server = await filledServer(join(folder, 'look.db'))
const browser = await launchBrowser()
const looks = join(import.meta.dirname, '..', '..', '.tmp', 'looks')
mkdirSync(looks, { recursive: true })
for (const path of positionals.length > 0 ? positionals : ['/inbox']) {
  const width = Number(values.width ?? 1440)
  const { page, problems, context } = await studioPage(browser, server.url, {
    width,
    ...(values.height && { height: Number(values.height) }),
    ...(values.user && { user: values.user }),
    dark: values.dark === true,
  })
  await page.goto(`${server.url}/studio${path}`)
  await page.waitForTimeout(Number(values.wait ?? 800))
  for (const key of values.press?.split(',') ?? []) {
    await page.keyboard.press(key)
    await page.waitForTimeout(150)
  }
  const name = `${path.replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'start'}-${width}-${values.dark ? 'dark' : 'light'}.png`
  await page.screenshot({ path: join(looks, name) })
  console.log(join('.tmp', 'looks', name))
  for (const problem of problems) console.log(`  ${problem}`)
  await context.close()
}
await browser.close()
await server.close()
rmSync(folder, { recursive: true, force: true })
process.exit(0)
