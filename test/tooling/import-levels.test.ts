import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { importGraph } from '../house/import-graph.ts'
import { readSources, roomOf } from '../house/source-files.ts'

test('every folder of src has one row in ARCHITECTURE.md', () => {
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.map(({ name }) => name).toSorted()).toEqual(foldersInTable().toSorted())
})

test('a folder imports only from those above it in the table, types included', () => {
  expect(upwardImports(importGraph(readSources('.')), foldersInTable())).toEqual([])
})

test('an import of a folder below is found, be it of a type or a value', () => {
  const graph = importGraph([
    { path: 'src/log/a.ts', text: "import type { B } from '../store/b.ts'\nimport { c } from '../base/c.ts'" },
    { path: 'src/store/b.ts', text: "import { a } from '../log/a.ts'\nimport { d } from './memory/d.ts'" },
    { path: 'src/store/memory/d.ts', text: "import { b } from '../b.ts'" },
    { path: 'src/base/c.ts', text: '' },
    { path: 'src/index.ts', text: "export { b } from './store/b.ts'" },
  ])
  expect(upwardImports(graph, ['base', 'log', 'store'])).toEqual(['src/log/a.ts imports src/store/b.ts'])
})

/** In the order of the rows: `| 0 | \`base/\` | ... |`. */
function foldersInTable(): string[] {
  return [...readFileSync('ARCHITECTURE.md', 'utf8').matchAll(/^\| \d \| `([a-z-]+)\/` \|/gm)].map((match) => match[1]!)
}

/** Files that lie in `src` itself are entries, and may import everything. */
function upwardImports(graph: ReturnType<typeof importGraph>, folders: readonly string[]): string[] {
  const rank = (file: string): number => folders.indexOf(roomOf(file).slice('src/'.length))
  return [...graph].flatMap(([file, imported]) =>
    [...imported]
      .filter((other) => roomOf(file) !== 'src' && rank(other) > rank(file))
      .map((other) => `${file} imports ${other}`),
  )
}
