import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Lines that stay when the program is interrupted. */
export type Kept = { readonly lines: readonly string[]; add(line: string): Promise<void> }

export async function openKept(tree: string, name: string): Promise<Kept> {
  const folder = join(tree, 'node_modules', '.cache', 'perdure-mutants')
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${name}.jsonl`)
  const text = await readFile(file, 'utf8').catch(() => '')
  // The last line is whole only if it ends.
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
  return {
    lines,
    async add(line) {
      lines.push(line)
      await appendFile(file, `${line}\n`)
    },
  }
}

/** The same for the same files with the same content. */
export async function hashOf(tree: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(await readFile(join(tree, file)))
  return hash.digest('hex').slice(0, 16)
}
