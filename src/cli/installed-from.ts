import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * What `npm install` has to be told to get the package that this code is part of, where it came from a file or a repository of git. Null where it came from a
 * registry, where another package manager than npm installed it, or where the file is gone. `folder`: of this code.
 */
export function installedFrom(folder: string): string | null {
  const modules = modulesAround(folder)
  if (modules === null) return null
  const from = resolvedIn(join(modules, '.package-lock.json'))
  if (from.startsWith('git+')) return from
  if (!from.startsWith('file:')) return null
  const file = resolve(dirname(modules), from.slice('file:'.length))
  return existsSync(file) ? `file:${file}` : null
}

/** The `node_modules` that the package stands in; null where it stands in none, as in a clone. */
function modulesAround(folder: string): string | null {
  const above = dirname(folder)
  if (basename(folder) === 'perdure' && basename(above) === 'node_modules') return above
  return above === folder ? null : modulesAround(above)
}

/** Where npm found the package, as npm has written it down. Empty where it has not. */
function resolvedIn(lockFile: string): string {
  try {
    const { packages } = Object(JSON.parse(readFileSync(lockFile, 'utf8')))
    const { resolved } = Object(Object(packages)['node_modules/perdure'])
    return typeof resolved === 'string' ? resolved : ''
  } catch {
    return ''
  }
}
