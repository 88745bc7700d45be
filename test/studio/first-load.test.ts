import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { countFirstLoad } from './first-load.ts'
import { world } from './look-world.ts'
import { openStudio, studioTest } from './open-studio.ts'
import { settled } from './settled.ts'

const studio = openStudio(world)

studioTest('the studio loads at most 220 kB before the inbox is shown, fonts apart', async () => {
  // Counts from the first request on: `open` has gone to its address already.
  const page = await (await studio.open('/inbox')).context().newPage()
  const size = countFirstLoad(page, `${studio.url}/studio`)
  await page.goto(`${studio.url}/studio/inbox`)
  await settled(page)
  const kB = size()
  // React alone is more than 60.
  expect(kB).toBeGreaterThan(60)
  expect(kB).toBeLessThanOrEqual(220)
})

studioTest('the page that is tested is the one that people get: without the checks of React for development', () => {
  const assets = join(import.meta.dirname, '..', '..', 'dist', 'studio', 'assets')
  const checking = globSync('*.js', { cwd: assets }).filter((file) =>
    readFileSync(join(assets, file), 'utf8').includes('Each child in a list should have a unique'),
  )
  expect(checking).toEqual([])
})
