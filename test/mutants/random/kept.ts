import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Lines that stay when the program is interrupted. */
export type Kept = {
  readonly lines: readonly string[]
  add(line: string): Promise<void>
  /** Only these are left. */
  replace(lines: readonly string[]): Promise<void>
}

export async function openKept(tree: string, name: string): Promise<Kept> {
  const folder = await cacheFolder(tree)
  const file = join(folder, `${name}.jsonl`)
  const text = await readFile(file, 'utf8').catch(() => '')
  // The last line is whole only if it ends.
  let lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
  return {
    get lines() {
      return lines
    },
    async add(line) {
      lines.push(line)
      await appendFile(file, `${line}\n`)
    },
    async replace(left) {
      lines = [...left]
      await writeFile(file, lines.map((line) => `${line}\n`).join(''))
    },
  }
}

/** Texts are kept under their hash. */
export async function keepText(tree: string, text: string): Promise<void> {
  await writeFile(join(await cacheFolder(tree), `${hashOf(text)}.txt`), text)
}

export async function keptText(tree: string, hash: string): Promise<string | null> {
  return readFile(join(await cacheFolder(tree), `${hash}.txt`), 'utf8').catch(() => null)
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** A file of the tree, and its hash. */
export type HashedFile = { readonly file: string; readonly text: string; readonly hash: string }

export async function readHashed(tree: string, files: readonly string[]): Promise<Map<string, HashedFile>> {
  const read = new Map<string, HashedFile>()
  for (const file of files) {
    const text = await readFile(join(tree, file), 'utf8')
    read.set(file, { file, text, hash: hashOf(text) })
  }
  return read
}

/** The same for the same files with the same content. */
export function hashOfAll(files: ReadonlyMap<string, HashedFile>): string {
  return hashOf([...files.values()].map(({ file, hash }) => `${file} ${hash}`).join('\n'))
}

async function cacheFolder(tree: string): Promise<string> {
  const folder = join(tree, 'node_modules', '.cache', 'perdure-mutants')
  await mkdir(folder, { recursive: true })
  return folder
}
