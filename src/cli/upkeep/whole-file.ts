import { createReadStream, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { CommandLineError } from '../../errors/cli-errors.ts'
import { unlessUnwritable } from '../unless-unwritable.ts'
import type { Write } from './upkeep-target.ts'

/** Writes a file that has its name only when it is complete and on disk, so that nobody takes half of one for whole. */
export async function writeWholeFile<T>(path: string, work: (write: Write) => Promise<T>): Promise<T> {
  const partial = `${path}.partial`
  const file = await unlessUnwritable(path, 'name another file', () => open(partial, 'w'))
  try {
    const result = await work(async (piece) => {
      await file.appendFile(piece)
    })
    await file.sync()
    await file.close()
    await rename(partial, path)
    return result
  } catch (error) {
    await file.close().catch(() => {})
    await rm(partial, { force: true })
    throw error
  }
}

/** Resolves when the reader has taken what was before it. */
export async function writeToStdout(piece: string | Uint8Array): Promise<void> {
  if (process.stdout.write(piece)) return
  await new Promise<void>((resolve) => process.stdout.once('drain', resolve))
}

export function readExport(path: string, command: string): AsyncIterable<Buffer> {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new CommandLineError(`There is no file '${path}'`, command)
  if (found.isDirectory()) throw new CommandLineError(`'${path}' is a folder; name a file`, command)
  return createReadStream(path)
}
