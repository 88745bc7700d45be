import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { type LocalAccess, readLocalAccess } from '../../server/node/local-token.ts'

/** Relative to the folder of the config that `perdure serve` runs. */
export const usualTokenFile = join('.perdure', 'server.json')

/** A server's address and the tokens for it. */
export type ServerAccess = {
  readonly address: URL
  /** Called for each request: a restarted server has another token. */
  token(): Promise<string | null>
  /** An operator's token, sent beside the user's. */
  operatorToken(): Promise<string | null>
}

/** Tokens never come from the command line, where other users could read them. The environment comes before a token file. */
export async function serverAccess(url: string, tokenFile: string | undefined): Promise<ServerAccess> {
  const address = checkedUrl(url)
  const user = environmentToken('PERDURE_TOKEN')
  const operator = environmentToken('PERDURE_OPERATOR_TOKEN')
  // Throws now if a named token file cannot be used.
  await localAccess(address, tokenFile)
  const ofFile = async () => await localAccess(address, tokenFile).catch(() => null)
  return {
    address,
    token: async () => user ?? (await ofFile())?.token ?? null,
    // With a token from the environment, a token file must not add an operator's rights.
    operatorToken: async () => operator ?? (user === null ? ((await ofFile())?.operatorToken ?? null) : null),
  }
}

/** The error does not contain the token: it may end up in a log. */
function environmentToken(name: 'PERDURE_TOKEN' | 'PERDURE_OPERATOR_TOKEN'): string | null {
  const token = process.env[name]
  if (token === undefined) return null
  if (token === '') throw new CommandLineError(`${name} is set and empty; set it to a token, or unset it`)
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new CommandLineError(`${name} has a character that no token has, such as a line break; set it again`)
}

/** What the server that runs here wrote to its token file. Throws where there is none. */
export async function findLocalAccess(tokenFile: string | undefined): Promise<LocalAccess> {
  const file = tokenFile === undefined ? findTokenFile(process.cwd()) : resolve(tokenFile)
  if (file === null) {
    throw new CommandLineError(
      'There is no .perdure/server.json here or above, so no server runs here; start one with perdure serve, or pass --token-file',
    )
  }
  return readLocalAccess(file).catch((cause: Error) => {
    throw new CommandLineError(`The token file ${file} cannot be read: ${cause.message}`)
  })
}

function checkedUrl(url: string): URL {
  const address = URL.parse(url)
  if (!address || !/^https?:$/.test(address.protocol)) {
    throw new CommandLineError(`--url is '${url}', which is not like http://127.0.0.1:4111`)
  }
  if (address.username || address.password) {
    throw new CommandLineError('--url holds credentials, which others can read; put a token into PERDURE_TOKEN')
  }
  if (address.search || address.hash) {
    throw new CommandLineError(`--url is '${url}', and must end with the path of the server, without ? or #`)
  }
  return address
}

/** Reads the token file of a server on this machine, for that server's address only. Null if there is none; throws if `tokenFile` names a useless one. */
async function localAccess(address: URL, tokenFile: string | undefined): Promise<LocalAccess | null> {
  const file = tokenFile === undefined ? findTokenFile(process.cwd()) : resolve(tokenFile)
  if (file === null) return null
  const access = await readLocalAccess(file).catch((cause: Error) => {
    if (tokenFile === undefined) return null
    throw new CommandLineError(`--token-file cannot be read: ${cause.message}`)
  })
  if (access && URL.parse(access.url)?.origin === address.origin) return access
  if (tokenFile === undefined) return null
  throw new CommandLineError(`--token-file belongs to the server at ${access?.url}; pass exactly that address as --url`)
}

function findTokenFile(from: string): string | null {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, usualTokenFile)
    if (existsSync(file)) return file
    if (dirname(folder) === folder) return null
  }
}
