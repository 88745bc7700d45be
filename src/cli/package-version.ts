import { readFileSync } from 'node:fs'

/** Of this package; `package.json` is two folders up, from `src` as from `dist`. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return String(version)
}
