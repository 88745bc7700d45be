import { createReadStream, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
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

/** From stdin where no file is named. */
export function readExport(named: string | undefined, command: string): AsyncIterable<Buffer> {
  const path = unlessDash(named)
  if (path === undefined) {
    if (!process.stdin.isTTY) return process.stdin
    throw new CommandLineError('Nothing says what to read: name a file, or pipe an export in', command)
  }
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new CommandLineError(`There is no file '${path}'`, command)
  if (found.isDirectory()) throw new CommandLineError(`'${path}' is a folder; name a file`, command)
  return createReadStream(path)
}

/** A single dash names no file but what is piped, as everywhere; `./-` is the file. */
export function unlessDash(file: string | undefined): string | undefined {
  return file === '-' ? undefined : file
}
