import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Declarations } from './api-reference/declarations.ts'
import { renderPage } from './api-reference/render-page.ts'

const root = join(import.meta.dirname, '..', '..')
const pages = join(root, 'docs', 'api')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const entries = Object.entries<string | { default: string }>(exports).flatMap(([subpath, entry]) => {
  if (typeof entry === 'string') return []
  const specifier = `perdure${subpath.slice(1)}`
  return [
    {
      specifier,
      file: entry.default.replace('./dist/', '').replace(/\.js$/, '.ts'),
      page: `${specifier.replace('/', '-')}.md`,
    },
  ]
})

const emitted = mkdtempSync(join(tmpdir(), 'perdure-'))
emitDeclarations()
afterAll(() => rmSync(emitted, { recursive: true, force: true }))

const source = new Declarations(emitted)
const everything = entries.flatMap(({ file }) => source.exportsOf(file))

describe.each(entries)('the reference of $specifier', ({ specifier, file, page }) => {
  const declarations = source.exportsOf(file)
  const behind = source.behind(declarations, everything)

  test('is what the source says; npm run docs:api writes it', async () => {
    await expect(renderPage({ specifier, declarations, behind })).toMatchFileSnapshot(join(pages, page))
  })

  test('explains everything that is exported', () => {
    expect(declarations.filter(({ doc }) => doc === null).map(({ name }) => name)).toEqual([])
  })
})

test('there is a page for each entry, and none of what is gone', () => {
  expect(readdirSync(pages).sort()).toEqual([...entries.map(({ page }) => page), 'README.md'].sort())
})

test('the list of pages names each of them', () => {
  const list = readFileSync(join(pages, 'README.md'), 'utf8')
  expect(entries.map(({ page }) => page).filter((page) => !list.includes(`](${page})`))).toEqual([])
})

function emitDeclarations(): void {
  const args = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', emitted]
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, ...args], { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The compiler refused the source:\n${stdout}`)
}
