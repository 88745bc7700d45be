import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'

const built = join(import.meta.dirname, '..', '..', 'dist', 'studio')

/** What a browser asks for before a page can be used, fonts apart, in kB after gzip. Call it before the page is opened; ask when it is shown. */
export function countFirstLoad(page: Page, studioUrl: string): () => number {
  const files = new Set(['index.html'])
  page.on('request', (request) => {
    const asset = /\/(assets\/[^?#]+)$/.exec(request.url().slice(studioUrl.length))?.[1]
    if (request.url().startsWith(studioUrl) && asset && !asset.endsWith('.woff2')) files.add(asset)
  })
  return () => {
    const sizes = [...files].map((file) => gzipSync(readFileSync(join(built, file)), { level: 9 }).length)
    return sizes.reduce((sum, size) => sum + size, 0) / 1_000
  }
}
