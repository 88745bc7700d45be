import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgresUser } from './postgres-user.ts'

export type RunningPgBouncer = {
  /** The connection string that leads through it. */
  readonly url: string
  /** Ends it as a crash does, and starts it again on the same port. */
  restart(): Promise<void>
  destroy(): Promise<void>
}

/** The binary, where this machine has one. `PGBOUNCER` names it; otherwise it is looked for where packages put it. */
export function findPgBouncer(): string | null {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  const candidates = [process.env['PGBOUNCER'] ?? '', ...places.map((place) => join(place, 'pgbouncer'))]
  return candidates.find((candidate) => candidate !== '' && isExecutable(candidate)) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const readyWithinMs = 10_000

/** Starts PgBouncer in transaction mode before a server, with fewer connections to it than clients have. */
export async function startPgBouncer(binary: string, serverUrl: string): Promise<RunningPgBouncer> {
  const server = new URL(serverUrl)
  const user = await postgresUser()
  const folder = await mkdtemp(join(tmpdir(), 'perdure-pgbouncer-'))
  const port = await freePort()
  const [settings, users, log] = ['pgbouncer.ini', 'users.txt', 'log'].map((name) => join(folder, name))
  await writeFile(users!, `"${server.username}" "${server.password}"\n`)
  await writeFile(log!, '')
  await writeFile(
    settings!,
    [
      '[databases]',
      `* = host=${server.hostname} port=${server.port}`,
      '[pgbouncer]',
      ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', `logfile = ${log}`],
      ...['auth_type = trust', `auth_file = ${users}`, 'pool_mode = transaction', 'max_client_conn = 200'],
      // Two clients in turn get any of these.
      'default_pool_size = 3',
      // After a restart of the server it would otherwise refuse everyone for 15 seconds.
      'server_login_retry = 1',
      '',
    ].join('\n'),
  )
  await chmod(folder, 0o755)
  if (user) for (const path of [folder, settings!, users!, log!]) await chown(path, user.uid, user.gid)

  const launch = async (): Promise<ChildProcess> => {
    const child = spawn(binary, ['-q', settings!], { ...user, cwd: folder, stdio: 'ignore', detached: true })
    const until = Date.now() + readyWithinMs
    while (!(await isListening(port))) {
      if (child.exitCode !== null || Date.now() > until) {
        child.kill('SIGKILL')
        throw new Error(`PgBouncer did not start on port ${port}: ${await readFile(log!, 'utf8')}`)
      }
      await sleep(20)
    }
    child.unref()
    return child
  }
  let child = await launch()
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.ref()
    child.kill('SIGKILL')
    await ended
  }
  const killWithParent = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const through = new URL(serverUrl)
  through.hostname = '127.0.0.1'
  through.port = String(port)
  return {
    url: through.href,
    async restart() {
      await kill()
      child = await launch()
    },
    async destroy() {
      process.off('exit', killWithParent)
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
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
