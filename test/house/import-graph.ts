import { posix } from 'node:path'
import { parseSync, type StaticExportEntry, type StaticImport } from 'oxc-parser'
import type { SourceFile } from './source-files.ts'

/** One relative import. A type import is gone once the types are stripped; it is a dependency all the same. */
export type Import = { readonly path: string; readonly kind: 'value' | 'type' | 'dynamic' }

/** For each file the files that it imports. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>

/** The imports among files. Packages, and files that are not given, are left out. */
export function importGraph(
  files: readonly SourceFile[],
  kinds: readonly Import['kind'][] = ['value', 'type', 'dynamic'],
): ImportGraph {
  const known = new Set(files.map(({ path }) => path))
  const imported = (file: SourceFile): string[] =>
    importsOf(file)
      .filter(({ path, kind }) => kinds.includes(kind) && known.has(path) && path !== file.path)
      .map(({ path }) => path)
  return new Map(files.map((file) => [file.path, new Set(imported(file))]))
}

/** Imports, re-exports, `import('./a.ts')`, and types written as `import('./a.ts').A`. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const result = parseSync(path, text)
  const { module, errors } = result
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]!.message}`)
  const found: [string, Import['kind']][] = []
  for (const statement of module.staticImports) found.push([statement.moduleRequest.value, kindOfImport(statement)])
  for (const { entries } of module.staticExports)
    for (const entry of entries) if (entry.moduleRequest) found.push([entry.moduleRequest.value, kindOfExport(entry)])
  if (text.includes('import('))
    walk(result.program, (node) => {
      if (node['type'] === 'ImportExpression') addLiteral(node['source'], 'dynamic')
      if (node['type'] === 'TSImportType') addLiteral(node['source'], 'type')
    })
  return found
    .filter(([specifier]) => specifier.startsWith('.'))
    .map(([specifier, kind]) => ({ path: posix.join(posix.dirname(path), specifier), kind }))

  function addLiteral(node: unknown, kind: Import['kind']): void {
    const value = (node as { value?: unknown } | null)?.value
    if (typeof value === 'string') found.push([value, kind])
  }
}

/** The files that import each file. */
export function importersOf(graph: ImportGraph): Map<string, string[]> {
  const importers = new Map<string, string[]>([...graph.keys()].map((file) => [file, []]))
  for (const [file, imported] of graph) for (const other of imported) importers.get(other)!.push(file)
  return importers
}

/** The same graph between groups of files, such as folders; what a group imports of itself is left out. */
export function groupGraph(graph: ImportGraph, groupOf: (file: string) => string): ImportGraph {
  const groups = new Map<string, Set<string>>()
  for (const [file, imported] of graph) {
    const own = groupOf(file)
    const edges = groups.get(own) ?? new Set<string>()
    groups.set(own, edges)
    for (const other of imported) if (groupOf(other) !== own) edges.add(groupOf(other))
  }
  return groups
}

/** The groups of nodes that can reach each other, each in the order of its names: the cycles of a graph. */
export function cyclesOf(graph: ImportGraph): string[][] {
  return components(graph).filter((nodes) => nodes.length > 1)
}

/**
 * The longest way down the imports, from the file at its top. Files that import each other in a circle (types can) are passed once, all of them, so that a
 * circle never looks shorter than it is.
 */
export function longestChain(graph: ImportGraph): string[] {
  const below = new Map<string, string[]>()
  const longest = (chains: Iterable<string[]>): string[] =>
    [...chains].reduce((best, chain) => (chain.length > best.length ? chain : best), [])
  // Components come after everything they import.
  for (const nodes of components(graph)) {
    const own = new Set(nodes)
    const further = nodes.flatMap((node) => [...graph.get(node)!].filter((other) => !own.has(other)))
    const chain = [...nodes, ...longest(further.map((other) => below.get(other)!))]
    for (const node of nodes) below.set(node, chain)
  }
  return longest(below.values())
}

/** Tarjan's strongly connected components, each after those that it can reach. */
function components(graph: ImportGraph): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  for (const node of graph.keys()) if (!index.has(node)) visit(node)
  return found

  function visit(node: string): void {
    index.set(node, index.size)
    low.set(node, index.get(node)!)
    stack.push(node)
    for (const next of graph.get(node)!) {
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!))
    }
    if (low.get(node) === index.get(node)) found.push(stack.splice(stack.indexOf(node)).toSorted())
  }
}

function kindOfImport({ entries }: StaticImport): Import['kind'] {
  return entries.length > 0 && entries.every(({ isType }) => isType) ? 'type' : 'value'
}

function kindOfExport({ isType }: StaticExportEntry): Import['kind'] {
  return isType ? 'type' : 'value'
}

function walk(node: unknown, visit: (node: Record<string, unknown>) => void): void {
  if (Array.isArray(node)) for (const item of node) walk(item, visit)
  else if (node && typeof node === 'object') {
    const members = node as Record<string, unknown>
    if (typeof members['type'] === 'string') visit(members)
    for (const member of Object.values(members)) walk(member, visit)
  }
}
