import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds on a page as it is now, by all its rules, in light and in dark. */
export async function violations(page: Page, where: string): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
    found.push(...(await page.evaluate(check, `${where}, ${colorScheme}`)))
  }
  return found
}

async function check(place: string): Promise<string[]> {
  type Found = { violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }
  const { axe: checker } = globalThis as unknown as { axe: { run(options: object): Promise<Found> } }
  const found = await checker.run({ resultTypes: ['violations'] })
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${place}: ${id}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
  )
}
