import { CommandLineError } from '../base/errors/cli-errors.ts'

/** A place that cannot be written to is told as what it is: something about the command, with what to do about it. */
export async function unlessUnwritable<T>(path: string, advice: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const why = reasons[(error as NodeJS.ErrnoException).code ?? '']
    if (why === undefined) throw error
    throw new CommandLineError(`'${path}' cannot be written, because ${why}; ${advice}`)
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'you may not',
  EPERM: 'you may not',
  EROFS: 'its disk is read-only',
  ENOENT: 'its folder does not exist, or takes nothing new',
  ENOTDIR: 'a folder above it is a file',
  EEXIST: 'a folder of it is a file',
  EISDIR: 'it is a folder',
  ENOSPC: 'its disk is full',
}
