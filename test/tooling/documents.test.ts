import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const folders = ['.', 'docs', 'examples']
const documents = folders
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((name) => name.endsWith('.md'))

test.each(documents)('the links of %s lead somewhere', (document) => {
  const links = [...readFileSync(document, 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1]!)
  const broken = links.filter((link) => !/^https?:/.test(link) && !existsSync(join(dirname(document), link)))
  expect(broken).toEqual([])
})

test.each(documents)('the scripts that %s names exist', (document) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = [...readFileSync(document, 'utf8').matchAll(/npm run ([a-z:-]+)/g)].map((match) => match[1]!)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
})

test('ARCHITECTURE.md explains every folder of src', () => {
  const text = readFileSync('ARCHITECTURE.md', 'utf8')
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const isExplained = (name: string) => text.includes(`\`${name}/`) || text.includes(`| \`${name}`)
  expect(folders.map((folder) => folder.name).filter((name) => !isExplained(name))).toEqual([])
})
