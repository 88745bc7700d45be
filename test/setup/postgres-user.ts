import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The user that the server runs as. Null: the current user. */
export type PostgresUser = { readonly uid: number; readonly gid: number } | null

/** Postgres refuses to run as root, so root runs it as the user `postgres`, who is created where there is none. */
export async function postgresUser(): Promise<PostgresUser> {
  if (userInfo().uid !== 0) return null
  try {
    return await lookUp()
  } catch {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'])
    return lookUp()
  }
}

async function lookUp(): Promise<PostgresUser> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => (await run('id', [flag, 'postgres'])).stdout))
  return { uid: Number(uid), gid: Number(gid) }
}
