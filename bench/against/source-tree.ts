import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = join(import.meta.dirname, '..', '..')
/** Everything that the measuring program loads from a tree. */
const needed = ['src', 'package.json', 'package-lock.json']

/**
 * A copy of sources in its own folder, so that both sides have the same layout and edits during the run have no effect.
 */
export type SourceTree = { readonly name: string; readonly root: string; remove(): Promise<void> }

/** The working tree, including uncommitted changes. */
export async function workingTree(): Promise<SourceTree> {
  const root = await freshFolder()
  for (const name of needed) await cp(join(here, name), join(root, name), { recursive: true })
  await symlink(join(here, 'node_modules'), join(root, 'node_modules'))
  return { name: 'this tree', root, remove: () => removeFolder(root) }
}

/** The sources of a commit. Throws when git does not know it. */
export async function treeOf(ref: string): Promise<SourceTree> {
  const commit = await commitOf(ref)
  const root = await freshFolder()
  try {
    const archive = join(root, 'tree.tar')
    await run('git', ['-C', here, 'archive', '--format=tar', '-o', archive, commit, ...needed])
    await run('tar', ['-xf', archive, '-C', root])
    await provideModules(root)
  } catch (error) {
    await removeFolder(root)
    throw error
  }
  return { name: `${ref} (${commit.slice(0, 9)})`, root, remove: () => removeFolder(root) }
}

async function commitOf(ref: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['-C', here, 'rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`])
    return stdout.trim()
  } catch (cause) {
    throw new Error(`git knows no commit '${ref}'. Name a branch, a tag or a commit of this repository.`, { cause })
  }
}

/**
 * Shares the modules if both trees have the same dependencies; otherwise installs its own, because a new version of a
 * dependency is part of what a tree costs.
 */
async function provideModules(root: string): Promise<void> {
  const [ours, theirs] = await Promise.all([here, root].map(modulesAskedFor))
  if (ours === theirs) return symlink(join(here, 'node_modules'), join(root, 'node_modules'))
  await mkdir(join(root, 'node_modules'))
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: root })
}

async function modulesAskedFor(root: string): Promise<string> {
  const { dependencies = {}, peerDependencies = {} } = await readJson(join(root, 'package.json'))
  const { packages } = await readJson(join(root, 'package-lock.json'))
  const names = Object.keys({ ...dependencies, ...peerDependencies }).sort()
  return JSON.stringify(names.map((name) => [name, packages[`node_modules/${name}`]?.version]))
}

async function readJson(path: string) {
  return JSON.parse(await readFile(path, 'utf8'))
}

function freshFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'perdure-tree-'))
}

function removeFolder(root: string): Promise<void> {
  return rm(root, { recursive: true, force: true })
}
