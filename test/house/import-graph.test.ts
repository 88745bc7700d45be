import { describe, expect, test } from 'vitest'
import { cyclesOf, groupGraph, importersOf, importGraph, importsOf, longestChain } from './import-graph.ts'
import { roomOf } from './source-files.ts'

describe('the imports of a file', () => {
  test.each([
    ["import { a } from './a.ts'", 'value'],
    ["import './a.ts'", 'value'],
    ["import * as all from './a.ts'", 'value'],
    ["import type { A } from './a.ts'", 'type'],
    ["import { type A, type B } from './a.ts'", 'type'],
    ["import { type A, b } from './a.ts'", 'value'],
    ["export { a } from './a.ts'", 'value'],
    ["export * from './a.ts'", 'value'],
    ["export type { A } from './a.ts'", 'type'],
    ["export type * from './a.ts'", 'type'],
    ["const a = await import('./a.ts')", 'dynamic'],
    ["type A = import('./a.ts').A", 'type'],
    ["type A = typeof import('./a.ts')", 'type'],
  ])('%s', (text, kind) => {
    expect(importsOf({ path: 'src/log/b.ts', text })).toEqual([{ path: 'src/log/a.ts', kind }])
  })

  test('packages, comments and strings are none', () => {
    const text = "import 'pg'\n// import('./a.ts')\nconst text = \"import './a.ts'\"\n"
    expect(importsOf({ path: 'src/b.ts', text })).toEqual([])
  })

  test('are given as paths from the root', () => {
    const text = "import { a } from '../store/memory/a.ts'"
    expect(importsOf({ path: 'src/log/b.ts', text })[0]!.path).toBe('src/store/memory/a.ts')
  })

  test('a file that cannot be parsed is an error that names it', () => {
    expect(() => importsOf({ path: 'src/b.ts', text: 'import {' })).toThrow('src/b.ts cannot be parsed')
  })
})

describe('the graph', () => {
  test('a file that is imported twice by another has one importer', () => {
    const graph = graphOf({ a: "import { b } from './b.ts'\nexport type { B } from './b.ts'", b: '' })
    expect(importersOf(graph).get('src/b.ts')).toEqual(['src/a.ts'])
  })

  test('can leave types and dynamic imports out', () => {
    const files = [
      { path: 'src/a.ts', text: "import type { B } from './b.ts'\nvoid import('./c.ts')\nimport './d.ts'" },
      ...['b', 'c', 'd'].map((name) => ({ path: `src/${name}.ts`, text: '' })),
    ]
    expect([...importGraph(files, ['value']).get('src/a.ts')!]).toEqual(['src/d.ts'])
  })

  test('a folder cycle is one of types as much as of values, and imports within a folder are none', () => {
    const graph = graphOf({
      'tool/a': "import type { A } from '../agent/a.ts'",
      'agent/a': "import { b } from './b.ts'",
      'agent/b': "import { c } from '../tool/c.ts'",
      'tool/c': "import { d } from '../log/d.ts'",
      'log/d': "import { e } from './e/e.ts'",
      'log/e/e': "import type { D } from '../d.ts'",
    })
    expect(cyclesOf(groupGraph(graph, roomOf))).toEqual([['src/agent', 'src/tool']])
  })
})

describe('the longest chain', () => {
  test('is counted in files, and need not be the first way that is found', () => {
    const graph = graphOf({
      a: "import './d.ts'\nimport './b.ts'",
      b: "import './c.ts'",
      c: "import './d.ts'",
      d: '',
    })
    expect(longestChain(graph)).toEqual(['src/a.ts', 'src/b.ts', 'src/c.ts', 'src/d.ts'])
  })

  test('passes files that import each other once, and goes on below them', () => {
    const graph = graphOf({
      a: "import './b.ts'",
      b: "import './c.ts'",
      c: "import './b.ts'\nimport './d.ts'",
      d: '',
    })
    expect(longestChain(graph)).toEqual(['src/a.ts', 'src/b.ts', 'src/c.ts', 'src/d.ts'])
  })

  test('of nothing is empty', () => {
    expect(longestChain(importGraph([]))).toEqual([])
  })
})

function graphOf(files: Record<string, string>) {
  return importGraph(Object.entries(files).map(([name, text]) => ({ path: `src/${name}.ts`, text })))
}
