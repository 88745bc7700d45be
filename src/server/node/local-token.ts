import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isSameSecret, requireSecret } from '../guard/secret.ts'

/** What tools on the same machine need to talk to a server: read it from its file. */
export type LocalAccess = {
  readonly url: string
  /** Of whoever acts as `localScope`. */
  readonly token: string
  /** Of whoever looks after the whole store, and good for nothing else; only where the server is given `upkeep`. */
  readonly operatorToken?: string
}

/** Secrets of this run, for whoever can read a file of its owner: one to act with, and another to look after the store. */
export class LocalToken {
  readonly #file: string
  readonly #token = newSecret()
  readonly #operatorToken: string | null

  constructor(file: string, { hasOperators = false }: { readonly hasOperators?: boolean } = {}) {
    this.#file = file
    this.#operatorToken = hasOperators ? newSecret() : null
  }

  isOfUser(given: string | null): boolean {
    return given !== null && isSameSecret(given, this.#token)
  }

  isOfOperator(given: string | null): boolean {
    return given !== null && this.#operatorToken !== null && isSameSecret(given, this.#operatorToken)
  }

  /** Readable by its owner alone, from the first moment on. */
  async write(url: string): Promise<void> {
    await makeFolder(dirname(this.#file), { mode: 0o700 })
    const draft = `${this.#file}.${process.pid}.${randomBytes(4).toString('hex')}`
    const operator = this.#operatorToken === null ? {} : { operatorToken: this.#operatorToken }
    const access: LocalAccess = { url, token: this.#token, ...operator }
    await writeFile(draft, `${JSON.stringify(access)}\n`, { mode: 0o600, flag: 'wx' })
    await chmod(draft, 0o600)
    await rename(draft, this.#file)
  }

  /** Unless another server has written its own there. */
  async remove(): Promise<void> {
    const access = await readLocalAccess(this.#file).catch(() => null)
    if (access && isSameSecret(access.token, this.#token)) await rm(this.#file, { force: true })
  }
}

/** Reads what `serve` wrote to `localTokenFile`. Rejects where there is no such file: then no such server runs. */
export async function readLocalAccess(file: string): Promise<LocalAccess> {
  const access = JSON.parse(await readFile(file, 'utf8')) as LocalAccess
  for (const name of ['token', 'operatorToken'] as const)
    if (access[name] !== undefined || name === 'token') requireSecret(`${name} of ${file}`, access[name])
  return access
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Makes a folder, with those above it that are missing. Node's own `recursive` never comes to an end where a folder is there and takes
 * none, as /proc does: it makes the one above again and again.
 */
export async function makeFolder(path: string, options: { readonly mode?: number } = {}): Promise<void> {
  const above = dirname(path)
  if (above !== path && !existsSync(above)) await makeFolder(above, options)
  try {
    await mkdir(path, options)
  } catch (error) {
    // It was there, or somebody else was faster.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}
