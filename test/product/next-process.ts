import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export type NextEnv = Readonly<Record<string, string>>

export type NextServer = {
  readonly url: string
  readonly port: number
  /** Everything it has printed. */
  output(): string
  /** Ends it and the processes that it started. Resolves with the exit code, which is null after a signal. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

const running = new Set<ChildProcess>()

/** Whatever happens, no server outlives the program. */
process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL')
})

/** Builds the app, and returns what was printed. Rejects when the build fails. */
export async function nextBuild(folder: string, env: NextEnv): Promise<string> {
  const { child, output } = startNext(folder, ['build'], env)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`next build ended with ${code}:\n${output()}`)
  return output()
}

/** Starts a server on a free port, or on the given one, and waits until it is ready. */
export async function nextServer(
  command: 'start' | 'dev',
  folder: string,
  env: NextEnv,
  port = 0,
): Promise<NextServer> {
  const { child, output } = startNext(folder, [command, '--hostname', '127.0.0.1', '--port', String(port)], env)
  const exited = once(child, 'exit')
  while (!/Ready in/.test(output())) {
    const isUp = await Promise.race([once(child.stdout!, 'data').then(() => true), exited.then(() => false)])
    if (!isUp) throw new Error(`next ${command} ended before it was ready:\n${output()}`)
  }
  const taken = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(output())![1])
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    output,
    async stop(signal) {
      killGroup(child, signal)
      const [code] = (await exited) as [number | null]
      return code
    },
  }
}

function startNext(
  folder: string,
  args: readonly string[],
  env: NextEnv,
): { child: ChildProcess; output: () => string } {
  const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next')
  const child = spawn(process.execPath, [next, ...args], {
    cwd: folder,
    env: { ...withoutOurs(), NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1', ...env },
    // A group of its own: `next dev` starts other processes.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  let printed = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (data) => (printed += String(data)))
  return { child, output: () => printed }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    // It has ended.
  }
}

/** Next.js decides by these what it is. */
function withoutOurs(): NodeJS.ProcessEnv {
  const { NODE_ENV: _, NODE_OPTIONS: _options, ...rest } = process.env
  return rest as NodeJS.ProcessEnv
}
