import { createReadStream, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { OnProgress } from '../../upkeep/maintenance.ts'
import { unlessUnwritable } from '../output.ts'
import { safely } from '../terminal/text.ts'
import type { Write } from './with-upkeep.ts'

/** Writes a file under a temporary name, and renames it when it is complete and on disk: a partial file never has the name. */
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

/** Resolves when the reader is ready for more. */
export async function writeToStdout(piece: string | Uint8Array): Promise<void> {
  if (process.stdout.write(piece)) return
  await new Promise<void>((resolve) => process.stdout.once('drain', resolve))
}

/** Reads stdin if no file is named. */
export function readExport(named: string | undefined, command: string): AsyncIterable<Buffer> {
  const path = unlessDash(named)
  if (path === undefined) {
    if (!process.stdin.isTTY) return process.stdin
    throw new CommandLineError('No export is named: name a file, or pipe one in', command)
  }
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new CommandLineError(`There is no file '${path}'`, command)
  if (found.isDirectory()) throw new CommandLineError(`'${path}' is a folder; name a file`, command)
  return createReadStream(path)
}

/** A single dash means stdin or stdout; `./-` is the file. */
export function unlessDash(file: string | undefined): string | undefined {
  return file === '-' ? undefined : file
}

type Progress = {
  advance(by?: number): void
  /** Must be called, also when the work fails: prints the last state on its own line. */
  end(): void
}

type ProgressOptions = {
  readonly label: string
  /** The number of items; null if unknown. */
  readonly total: number | null
  readonly stderr?: NodeJS.WriteStream
}

const redrawMs = 100
const plainMs = 5_000
const barLength = 24

/** Prints progress on stderr: a bar on a terminal, else a line every few seconds, and nothing for quick work. */
export function startProgress({ label, total, stderr = process.stderr }: ProgressOptions): Progress {
  const isTerminal = stderr.isTTY === true
  const startedAt = performance.now()
  let done = 0
  let drawnAt = isTerminal ? Number.NEGATIVE_INFINITY : startedAt
  let isDrawn = false
  const draw = (now: number): void => {
    drawnAt = now
    isDrawn = true
    const text = `${safely(label)} ${told(done, total, (now - startedAt) / 1000)}`
    stderr.write(isTerminal ? `\r\u001b[K${text.slice(0, Math.max(1, (stderr.columns || 80) - 1))}` : `${text}\n`)
  }
  return {
    advance(by = 1) {
      done += by
      const now = performance.now()
      if (now - drawnAt >= (isTerminal ? redrawMs : plainMs)) draw(now)
    },
    end() {
      if (isDrawn) draw(performance.now())
      if (isDrawn && isTerminal) stderr.write('\n')
    },
  }
}

function told(done: number, total: number | null, seconds: number): string {
  const rate = seconds > 0 ? `${Math.round(done / seconds)}/s` : ''
  if (total === null) return `${done} ${rate}`
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.round(share * barLength)
  return `[${'#'.repeat(full)}${'.'.repeat(barLength - full)}] ${Math.floor(share * 100)}% ${done}/${total} ${rate}`
}

/** Shows how many conversations are done while `work` runs, also when it fails. */
export async function showProgress<T>(label: string, work: (onProgress: OnProgress) => Promise<T>): Promise<T> {
  let shown: Progress | null = null
  let seen = 0
  try {
    return await work(({ done, total }) => {
      shown ??= startProgress({ label, total })
      shown.advance(done - seen)
      seen = done
    })
  } finally {
    ;(shown as Progress | null)?.end()
  }
}
