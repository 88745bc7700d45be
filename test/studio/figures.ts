/**
 * `npm run studio:figures`: how large the studio is and how fast it stays with much to show. Prints a table and a JSON line, also of what was measured before
 * something failed, and ends with 1 when a figure is beyond its limit. `-- list log text size` measures only some.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'

// The package is imported by its name.
await import('../support/perdure-from-source.ts')
const { launchBrowser } = await import('../support/browser/launch-browser.ts')
const { buildStudio } = await import('./build-studio.ts')
const { limits, measurements } = await import('./measurements.ts')
const { fillFigures, figuresWorld } = await import('./figures-world.ts')
const { startServer } = await import('./studio-server.ts')

const chosen = process.argv.slice(2)
await buildStudio()
const folder = mkdtempSync(join(tmpdir(), 'perdure-figures-'))
const storeFile = join(folder, 'figures.db')
await fillFigures(storeFile)
const server = await startServer(figuresWorld, { storeFile })
const browser = await launchBrowser()
const figures: Record<string, number> = { cores: availableParallelism() }
let failure: unknown = null
try {
  for (const [name, measure] of Object.entries(measurements)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    Object.assign(figures, await measure(browser, server), { [`${name}Load`]: Math.round(loadavg()[0]! * 10) / 10 })
  }
} catch (error) {
  failure = error
} finally {
  await browser.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
}
console.table(figures)
console.log(JSON.stringify(figures))
const beyond = Object.entries(limits).filter(([name, isWithin]) => name in figures && !isWithin(figures[name]!))
for (const [name] of beyond) console.error(`${name} is beyond its limit: ${figures[name]}`)
if (failure) console.error(failure)
process.exit(beyond.length > 0 || failure ? 1 : 0)
