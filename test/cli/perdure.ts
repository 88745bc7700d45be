import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

export const repository = join(import.meta.dirname, '..', '..')
export const main = join(repository, 'src', 'cli', 'main.ts')

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type RunOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
}

/** Runs the real command line to its end. */
export async function perdure(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const running = startPerdure(args, options)
  running.process.stdin.end(options.stdin ?? '')
  return running.ended
}

/** With its JSON document. */
export async function perdureJson(args: readonly string[], options?: RunOptions) {
  const { code, stdout, stderr } = await perdure([...args, '--json'], options)
  if (stdout === '') throw new Error(`perdure ${args.join(' ')} said nothing (${code}): ${stderr}`)
  return { code, value: JSON.parse(stdout) }
}

export type Running = {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly ended: Promise<Ended>
  /** Resolves when stdout has it. */
  until(text: string): Promise<void>
}

export function startPerdure(args: readonly string[], { cwd = tmpdir(), env = {} }: RunOptions = {}): Running {
  const { PERDURE_STORE: _, PERDURE_TOKEN: __, NO_COLOR: ___, ...inherited } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...inherited, NODE_COMPILE_CACHE: join(repository, '.tmp', 'compile-cache'), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {})
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  const heard = (): void => {
    for (const look of waiting) look()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    heard()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      resolve({ code, stdout, stderr })
      heard()
    })
  })
  const until = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (stdout.includes(text)) resolve()
        else if (child.exitCode !== null || child.signalCode !== null) {
          reject(new Error(`it ended with ${child.exitCode ?? child.signalCode} before '${text}': ${stdout}${stderr}`))
        } else return
        waiting.delete(look)
      }
      waiting.add(look)
      look()
    })
  return { process: child, ended, until }
}
