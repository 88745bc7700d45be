import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresBinaries } from './postgres-binaries.ts'
import { type PostgresUser, postgresUser } from './postgres-user.ts'

export type StartOptions = {
  /** Extra server settings, as in `{ shared_buffers: '256MB' }`. Default: the server's own, so commits are synced. */
  readonly settings?: Readonly<Record<string, string>>
}

export type RunningPostgres = {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** Of the server's first process; another one after `restart`. */
  readonly pid: number
  /** `immediate` is a crash: nothing is flushed, the next start recovers from the WAL. The data stays. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Starts the stopped server again on the same data and port. */
  restart(): Promise<void>
  /** Stops the server if it runs, and removes its data. */
  destroy(): Promise<void>
}

const password = 'perdure-test'
const startAttempts = 5
const readyWithinMs = 30_000

/** Starts a real Postgres on a free port of 127.0.0.1 with its data in a new temporary folder. */
export async function startPostgres(options: StartOptions = {}): Promise<RunningPostgres> {
  const user = await postgresUser()
  const binaries = await postgresBinaries(user)
  const folder = await mkdtemp(join(tmpdir(), 'perdure-postgres-'))
  const stopWatching = removeWhenParentDies(folder)
  const dataDir = join(folder, 'data')
  const destroyFolder = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true })
    stopWatching()
  }
  try {
    await initialise({ initdb: binaries.initdb, folder, dataDir, user })
    const settings = Object.entries(options.settings ?? {}).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const launch = (port: number): Promise<ChildProcess> =>
      serve({ postgres: binaries.postgres, folder, dataDir, port, user, settings })
    let { port, server } = await onFreePort(launch)
    const isRunning = (): boolean => server.exitCode === null && server.signalCode === null
    const stop = async (mode: 'fast' | 'immediate' = 'fast'): Promise<void> => {
      if (!isRunning()) return
      const exit = once(server, 'exit')
      server.ref()
      server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await exit
    }
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      port,
      dataDir,
      get pid() {
        return server.pid ?? -1
      },
      stop,
      async restart() {
        if (!isRunning()) server = await launch(port)
      },
      async destroy() {
        await stop('immediate')
        await destroyFolder()
      },
    }
  } catch (error) {
    await destroyFolder()
    throw error
  }
}

type Place = { readonly folder: string; readonly dataDir: string; readonly user: PostgresUser }

async function initialise({ initdb, folder, dataDir, user }: Place & { initdb: string }): Promise<void> {
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  await chmod(folder, 0o755)
  if (user) await chown(folder, user.uid, user.gid)
  // An order of text that differs from the order of bytes, so that a query which relies on the latter must say so.
  const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US', '--encoding=UTF8']
  const args = ['-D', dataDir, '-U', 'postgres', '--auth=password', `--pwfile=${passwordFile}`, '--no-sync', ...locale]
  const child = spawn(initdb, args, { ...user, stdio: ['ignore', 'pipe', 'pipe'], cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${output}`)
}

/** Another process may take the port between the look and the start. */
async function onFreePort(
  launch: (port: number) => Promise<ChildProcess>,
): Promise<{ port: number; server: ChildProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      return { port, server: await launch(port) }
    } catch (error) {
      if (attempt === startAttempts) throw error
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

type Launch = Place & { readonly postgres: string; readonly port: number; readonly settings: readonly string[] }

async function serve({ postgres, folder, dataDir, port, user, settings }: Launch): Promise<ChildProcess> {
  const logFile = join(folder, 'log')
  const log = await open(logFile, 'a')
  const places = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=300']
  const server = spawn(postgres, ['-D', dataDir, '-p', String(port), ...places, ...settings], {
    ...user,
    cwd: folder,
    // Its own group: an interrupt from the keyboard must not stop it before the tests have let go of it.
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  let failure: unknown = null
  server.once('error', (error) => (failure = error))
  await log.close()
  const until = Date.now() + readyWithinMs
  while (!(await isReady(dataDir, server.pid))) {
    const hasEnded = server.exitCode !== null || server.signalCode !== null
    if (failure || hasEnded || Date.now() > until) {
      server.kill('SIGQUIT')
      const output = await readFile(logFile, 'utf8').catch(() => '')
      throw new Error(`Postgres did not start on port ${port}: ${output.slice(-2000)}`, { cause: failure })
    }
    await sleep(20)
  }
  server.unref()
  return server
}

/** The server's own note: its pid in the first line, its state in the eighth. */
async function isReady(dataDir: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready'
}

/** A process that ends with its input, which even `kill -9` of this one closes. */
function removeWhenParentDies(folder: string): () => void {
  const script =
    'cat; test -d "$0" || exit 0; pid=$(head -n 1 "$0/data/postmaster.pid") && kill -QUIT "$pid" && sleep 1; rm -rf "$0"'
  const watcher = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watcher.unref()
  const { stdin } = watcher
  // Node's own socket handle would keep a finished program alive.
  ;(stdin as unknown as { unref(): void }).unref()
  return () => stdin.end()
}
