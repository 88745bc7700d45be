import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

type Locked = {
  readonly version?: string
  readonly resolved?: string
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }

test('the lock file has every package that another names, also those for other machines: npm ci refuses it otherwise', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, devDependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter((name) => locked(path, name) === null)
      .map((name) => `${name}, for ${path || 'perdure'}`),
  )
  expect(missing).toEqual([])
})

test('what is for other machines says so in the lock file, and is not fetched for this one', () => {
  const everywhere = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => /-(android|darwin|freebsd|linux|openharmony|wasm32|win32|windows)-/.test(name))
      .filter(([name]) => !locked(path, name)?.os && !locked(path, name)?.cpu)
      .map(([name]) => name),
  )
  expect(everywhere).toEqual([])
})

test('the lock file names no registry', () => {
  expect(Object.values(packages).filter(({ resolved }) => resolved?.startsWith('http'))).toEqual([])
})

/** What a package finds under this name: beside it, or in a folder above. */
function locked(path: string, name: string): Locked | null {
  const found = packages[`${path === '' ? '' : `${path}/`}node_modules/${name}`]
  if (found) return found
  return path === '' ? null : locked(path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))), name)
}
