import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** Null when strace works here; otherwise why it does not. */
export async function straceProblem(): Promise<string | null> {
  try {
    await promisify(execFile)('strace', ['-o', '/dev/null', 'true'])
    return null
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return isMissing
      ? 'strace is not installed, so the order of syncs and acknowledgements cannot be seen (apt-get install strace)'
      : `strace does not work here: ${(error as Error).message.trim()}`
  }
}

/** Which syncs fail with EIO, as strace counts them: `first..last` or `first..last+step`. */
export type FailingSyncs = string

/** The command that writes to `traceFile` what the checks of sync order read. */
export function straceCommand(traceFile: string, failing?: FailingSyncs): string[] {
  const injection = failing === undefined ? [] : ['-e', `inject=fsync,fdatasync:error=EIO:when=${failing}`]
  const traced = ['-e', 'trace=pwrite64,write,fsync,fdatasync,ftruncate,unlink', ...injection]
  // Whole pages are shown, because the names of commits are looked for in them.
  return ['strace', '-f', '-y', '-s', '70000', '-o', traceFile, ...traced]
}

export async function traceLines(traceFile: string): Promise<string[]> {
  const lines: string[] = []
  for await (const line of createInterface({ input: createReadStream(traceFile, 'latin1') })) lines.push(line)
  return lines
}
