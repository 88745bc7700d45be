import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createClient } from '../../client/create-client.ts'
import { CommandLineError } from '../../errors/cli-errors.ts'
import { readLocalAccess } from '../../server/node/local-token.ts'
import type { Target } from './target.ts'

/** Relative to the folder that `perdure serve` was run for. */
export const usualTokenFile = join('.perdure', 'server.json')

/** A running server. The token never comes from the command line, where others could read it. */
export async function openRemoteTarget(url: string, tokenFile?: string): Promise<Target> {
  const address = checkedUrl(url)
  await localToken(address, tokenFile)
  // Read for each request: a server that was started again has another one.
  const token = async () => process.env['PERDURE_TOKEN'] ?? (await localToken(address, tokenFile).catch(() => null))
  const client = createClient({ url: address.href, token })
  return { ...client, kind: 'server', place: address.href, agents: null, close: async () => {} }
}

function checkedUrl(url: string): URL {
  const address = URL.parse(url)
  if (!address || !/^https?:$/.test(address.protocol)) {
    throw new CommandLineError(`--url is '${url}', which is not like http://127.0.0.1:4111`)
  }
  if (address.username || address.password) {
    throw new CommandLineError('--url holds credentials, which others can read; put a token into PERDURE_TOKEN')
  }
  return address
}

/** Of the file that a server on this machine wrote, and only for that server's address. Null when there is none. */
async function localToken(address: URL, tokenFile: string | undefined): Promise<string | null> {
  const file = tokenFile === undefined ? findTokenFile(process.cwd()) : resolve(tokenFile)
  if (file === null) return null
  const access = await readLocalAccess(file).catch((cause: Error) => {
    if (tokenFile === undefined) return null
    throw new CommandLineError(`--token-file cannot be read: ${cause.message}`)
  })
  return access && URL.parse(access.url)?.origin === address.origin ? access.token : null
}

function findTokenFile(from: string): string | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, usualTokenFile)
    if (existsSync(file)) return file
    if (dirname(folder) === folder) return null
  }
}
