import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isTest } from '../house/source-files.ts'

const page = readFileSync('ARCHITECTURE.md', 'utf8')

test('the walk of a message names files of src, and each of them has the names in its row', () => {
  const rows = rowsBelow('## The walk of a message')
  expect(rows.length).toBeGreaterThan(10)
  const missing = rows.flatMap(([file, what]) => {
    const text = readFileSync(`src/${unquoted(file!)[0]}`, 'utf8').toLowerCase()
    const names = unquoted(what!).filter((quoted) => !quoted.includes('_'))
    return names.filter((name) => !text.includes(nameIn(name))).map((name) => `${file}: ${name}`)
  })
  expect(missing).toEqual([])
})

test('the two SQL stores have the same files, except those that ARCHITECTURE.md explains', () => {
  const [sqlite, postgres] = [filesOf('sqlite'), filesOf('postgres')]
  const differences = [
    ...sqlite.filter((name) => !postgres.includes(name)).map((name) => `sqlite/${name}`),
    ...postgres.filter((name) => !sqlite.includes(name)).map((name) => `postgres/${name}`),
  ]
  const explained = rowsBelow('`sqlite/` and `postgres/` have the same list of files').flatMap(([file]) =>
    unquoted(file!),
  )
  expect(differences.toSorted()).toEqual(explained.toSorted())
})

/** The rows of the first table after a text, without its header. */
function rowsBelow(start: string): string[][] {
  const lines = page.slice(page.indexOf(start)).split('\n')
  const first = lines.findIndex((line) => line.startsWith('|'))
  const end = lines.findIndex((line, index) => index > first && !line.startsWith('|'))
  return lines.slice(first + 2, end).map((line) => line.split('|').slice(1, -1))
}

function unquoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

/** `owner.commit` is `commit`, `model/stream-model.ts` is `stream-model`, `outcome()` is `outcome`. */
function nameIn(quoted: string): string {
  const last = quoted
    .replace(/(\.ts|\(\))$/, '')
    .split(/[./]/)
    .at(-1)
  return last!.toLowerCase()
}

/** By their paths in the folder of the store. */
function filesOf(store: string): string[] {
  const names = readdirSync(`src/store/${store}`, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts') && !isTest(name))
}
