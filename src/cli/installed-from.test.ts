import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { installedFrom } from './installed-from.ts'

const place = mkdtempSync(join(tmpdir(), 'perdure-installed-'))
writeFileSync(join(place, 'perdure.tgz'), '')
afterAll(() => rmSync(place, { recursive: true }))

let projects = 0
/** A project that has the package, and what npm has written beside it. */
function installed(lockFile: string | null): string {
  const modules = join(place, `project ${++projects}`, 'node_modules')
  const code = join(modules, 'perdure', 'dist', 'cli')
  mkdirSync(code, { recursive: true })
  if (lockFile !== null) writeFileSync(join(modules, '.package-lock.json'), lockFile)
  return code
}
const lockWith = (resolved: unknown): string =>
  JSON.stringify({ packages: { 'node_modules/perdure': { version: '0.2.0', resolved } } })

test('a package that npm installed from a file or from git is installed from there again', () => {
  expect(installedFrom(installed(lockWith('file:../perdure.tgz')))).toBe(`file:${join(place, 'perdure.tgz')}`)
  const repository = 'git+ssh://git@example.com/perdure.git#0123456789abcdef'
  expect(installedFrom(installed(lockWith(repository)))).toBe(repository)
})

test.each([
  ['from a registry', lockWith('https://registry.npmjs.org/perdure/-/perdure-0.2.0.tgz')],
  ['from a file that is gone', lockWith('file:../gone.tgz')],
  ['without a place', lockWith(undefined)],
  ['by another package manager', null],
  ['with a file that is no JSON', '{'],
  ['with a file that says something else', 'null'],
])('a package that was installed %s is installed by its version', (_, lockFile) => {
  expect(installedFrom(installed(lockFile))).toBeNull()
})

test('code in a clone is not installed', () => {
  expect(installedFrom(join(place, 'perdure', 'src', 'cli'))).toBeNull()
})
