/**
 * `npm run docs:studio`: takes the pictures of docs/studio.md and README from a server with the demo's examples: seven pictures of six pages, both themes, a desk and a phone. `--
 * inbox health` takes only those.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

// The package is imported by its name.
await import('../support/perdure-from-source.ts')
const { launchBrowser } = await import('../support/browser/launch-browser.ts')
const { buildStudio } = await import('./build-studio.ts')
const { filledServer } = await import('./look-world.ts')
const { settled } = await import('./settled.ts')
const { smallPng } = await import('./small-png.ts')
const { studioPage } = await import('./studio-page.ts')

/** `phone`: another address there, where one pane is all there is. */
type Picture = {
  readonly path: string
  readonly phone?: string
  /** Before the page is opened. Pictures that follow show it too. */
  readonly arrange?: () => Promise<void>
  readonly prepare?: (page: Page) => Promise<void>
}

const pictures: Readonly<Record<string, Picture>> = {
  inbox: {
    path: '/inbox',
    // A refund with its form.
    prepare: async (page) =>
      page
        .getByText(/Refund|refund|Pay/)
        .last()
        .click(),
  },
  conversations: { path: '/conversations' },
  conversation: { path: '/conversations/ticket-42?tab=timeline', phone: '/conversations/ticket-42' },
  'model-call': { path: '/conversations/garden?tab=calls' },
  session: { path: '/flows/return/return-1' },
  health: { path: '/health' },
  fleet: {
    path: '/health',
    arrange: async () => {
      const beat = { version: '0.2.0', works: true, capacity: 256, agents: [], agentCount: 4, everyMs: 60_000 }
      await server.store.nodes!.beat({ ...beat, holder: 'worker-b', drain: null })
      await server.runtime.drain('worker-b', { who: 'ann', reason: 'its machine is replaced' })
      await server.runtime.pause({ tenant: 'acme' }, { who: 'ann', reason: 'over its budget' })
      await server.runtime.bulk.start({ action: 'retry', who: 'ann', filter: { ended: ['failed'] }, perSecond: 1 })
    },
    prepare: async (page) =>
      page
        .getByRole('region', { name: 'Oldest due work' })
        .evaluate((section) => section.scrollIntoView({ block: 'nearest' })),
  },
}

const chosen = process.argv.slice(2)
await buildStudio()
const folder = mkdtempSync(join(tmpdir(), 'perdure-pictures-'))
const images = join(import.meta.dirname, '..', '..', 'docs', 'images')
mkdirSync(images, { recursive: true })
const server = await filledServer(join(folder, 'demo.db'))
const browser = await launchBrowser()
try {
  for (const [name, { path, phone = path, arrange, prepare }] of Object.entries(pictures)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    await arrange?.()
    for (const width of [1440, 390])
      for (const dark of [false, true]) {
        const { page, context, problems } = await studioPage(browser, server.url, { width, dark })
        await page.goto(`${server.url}/studio${width < 600 ? phone : path}`)
        await settled(page)
        await prepare?.(page)
        await settled(page)
        const file = `studio-${name}-${width}-${dark ? 'dark' : 'light'}.png`
        const picture = smallPng(await page.screenshot())
        writeFileSync(join(images, file), picture)
        console.log(`docs/images/${file} ${Math.round(picture.length / 1_000)} kB`)
        for (const problem of problems) console.log(`  ${problem}`)
        await context.close()
      }
  }
} finally {
  await browser.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
