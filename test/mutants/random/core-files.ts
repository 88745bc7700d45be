import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * What is no core: edges, upkeep of whole stores, texts of errors, and what only tests use. Everything else in `src` decides what is
 * written, run or shown, and a new folder belongs to it until it is named here.
 */
const edges = ['cli', 'client', 'react', 'server', 'testing', 'upkeep', 'index.ts']
const notDecidedInBase = ['errors', 'failpoint.ts']
/** What the edges have that decides: who and what gets in. */
const guards = ['server/guard']
const notDecided = ['migrations', 'commit-function.ts', 'upkeep']

/** The files of the core, as paths from the root of a tree, in an order that does not change. */
export async function coreFiles(root: string): Promise<string[]> {
  const source = join(root, 'src')
  const all = await readdir(source, { recursive: true })
  return all
    .filter((path) => path.endsWith('.ts') && !/\.(test|test-d)\.ts$/.test(path) && !path.endsWith('index.ts'))
    .filter((path) => isCore(path.split('/')))
    .map((path) => `src/${path}`)
    .sort()
}

function isCore(names: readonly string[]): boolean {
  if (guards.includes(names.slice(0, 2).join('/'))) return true
  if (names[0] === 'base' && notDecidedInBase.includes(names[1]!)) return false
  return !edges.includes(names[0]!) && !names.slice(1).some((name) => notDecided.includes(name))
}
