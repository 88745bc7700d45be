import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { packageVersion } from '../../src/base/errors/perdure-error.ts'

const folders = ['.', 'docs', 'docs/api', 'examples']
const documents = folders
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((name) => name.endsWith('.md'))

test.each(documents)('the links of %s lead somewhere', (document) => {
  const links = [...readFileSync(document, 'utf8').matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map((match) => match[1]!)
  const broken = links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(document, link))
  expect(broken).toEqual([])
})

function leadsSomewhere(document: string, link: string): boolean {
  const [path, heading] = link.split('#')
  const target = path === '' ? document : join(dirname(document), path!)
  if (!existsSync(target)) return false
  return heading === undefined || headingsOf(target).includes(heading)
}

/** As they are in links: in small letters, without punctuation, with hyphens for spaces; those that come again are numbered. */
function headingsOf(document: string): string[] {
  const times = new Map<string, number>()
  return [...readFileSync(document, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, text]) => {
    const words = text!.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    const name = words.replaceAll(' ', '-')
    const n = times.get(name) ?? 0
    times.set(name, n + 1)
    return n === 0 ? name : `${name}-${n}`
  })
}

test('what the documents in the package link to is in the package', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }
  const packed = [...files, 'README.md', 'LICENSE', 'package.json']
  const isPacked = (path: string) => packed.some((entry) => path === entry || path.startsWith(`${entry}/`))
  const missing = documents.filter(isPacked).flatMap((document) =>
    [...readFileSync(document, 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
      .map((match) => match[1]!)
      .filter((link) => !/^https?:/.test(link) && !isPacked(join(dirname(document), link).replace(/\/$/, '')))
      .map((link) => `${document}: ${link}`),
  )
  expect(documents.filter(isPacked)).toContain('README.md')
  expect(missing).toEqual([])
})

test.each(documents)('the scripts that %s names exist', (document) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = [...readFileSync(document, 'utf8').matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g)].map(
    (match) => match[1]!,
  )
  expect(named.filter((name) => !(name in scripts))).toEqual([])
})

test('CHANGELOG.md has a dated section for the version in package.json, below the unreleased changes', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const sections = [...readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## (.*)$/gm)].map((match) => match[1]!)
  expect(packageVersion).toBe(version)
  expect(sections[0]).toBe('[Unreleased]')
  expect(sections[1]).toMatch(/^\[[\d.]+\] - 20\d\d-\d\d-\d\d$/)
  expect(sections[1]).toContain(`[${version}]`)
})

test('what docs/operations.md lists as logged is what the sources log', () => {
  const rows = readFileSync('docs/operations.md', 'utf8').match(/^\| (error|warn) \|[^|]*\|/gm) ?? []
  const told = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map((match) => match[1]!))
  const messages = told.filter((text) => text.includes(' '))
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const sources = files.map((name) => readFileSync(join('src', name), 'utf8')).join('\n')
  const isLogged = (message: string) => message.split(/\.\.\.|\bN ms$/).every((piece) => sources.includes(piece))
  expect(messages.length).toBeGreaterThan(10)
  expect(messages.filter((message) => !isLogged(message))).toEqual([])
})

test('ARCHITECTURE.md explains every folder of src', () => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8')
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const isExplained = (name: string) => text.includes(`\`${name}/`) || text.includes(`| \`${name}`)
  expect(folders.map((folder) => folder.name).filter((name) => !isExplained(name))).toEqual([])
})
