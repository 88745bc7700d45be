import type { Page } from 'playwright-core'
import { userCookie } from './studio-page.ts'

/** Gives a page that is at `/open` all that ann may export from the server at `url`, as a file. */
export async function openExport(page: Page, url: string): Promise<void> {
  const cookie = `${userCookie}=${encodeURIComponent('{"user":"ann","tenant":""}')}`
  const exported = await (await fetch(`${url}/store/export`, { headers: { cookie } })).arrayBuffer()
  const file = { name: 'demo.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from(exported) }
  await page.getByLabel('Export file').setInputFiles(file)
  await page.getByText('Read-only').first().waitFor()
}
