import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where each entry of the package is before it is built: the exports of package.json, by the names that users import. */
export function perdureEntries(): { find: RegExp; replacement: string }[] {
  const root = join(import.meta.dirname, '..', '..')
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.entries<string | { default: string }>(exports).flatMap(([subpath, entry]) => {
    if (typeof entry === 'string') return []
    const source = entry.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    return [{ find: new RegExp(`^perdure${subpath.slice(1)}$`), replacement: join(root, source) }]
  })
}
