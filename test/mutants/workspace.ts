import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Edit } from './mutant.ts'

const copied = [
  'src',
  'studio',
  'test',
  'docs',
  'examples',
  'package.json',
  'rolldown.config.ts',
  'tsconfig.json',
  'vitest.config.ts',
]

/** A copy of the working tree that can be broken without harm. */
export class Workspace {
  readonly root: string

  private constructor(root: string) {
    this.root = root
  }

  static async copyOf(tree: string): Promise<Workspace> {
    const root = await mkdtemp(join(tmpdir(), 'perdure-mutants-'))
    for (const name of copied) await cp(join(tree, name), join(root, name), { recursive: true })
    await symlink(join(tree, 'node_modules'), join(root, 'node_modules'))
    return new Workspace(root)
  }

  /** Returns what puts everything back. Throws `PatchError`, with nothing changed, when an edit does not fit. */
  async apply(edits: readonly Edit[]): Promise<() => Promise<void>> {
    const originals = new Map<string, string>()
    const changed = new Map<string, string>()
    for (const { file, find, replace } of edits) {
      const text = changed.get(file) ?? (await this.#read(file))
      if (!originals.has(file)) originals.set(file, text)
      const times = text.split(find).length - 1
      if (times !== 1) throw new PatchError(`${file} has ${times} places like: ${find.trim().slice(0, 100)}`)
      changed.set(
        file,
        text.replace(find, () => replace),
      )
    }
    for (const [file, text] of changed) await writeFile(join(this.root, file), text)
    return async () => {
      for (const [file, text] of originals) await writeFile(join(this.root, file), text)
    }
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true })
  }

  async #read(file: string): Promise<string> {
    try {
      return await readFile(join(this.root, file), 'utf8')
    } catch {
      throw new PatchError(`there is no file ${file}`)
    }
  }
}

/** The code has moved on: the patch must be written anew. */
export class PatchError extends Error {}
