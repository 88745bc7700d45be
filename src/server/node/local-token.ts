import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { bearerToken, isSameSecret, operatorToken, requireSecret } from '../guard/secret.ts'
import type { StudioSignIn } from '../studio/studio-sign-in.ts'

/** How tools on the same machine reach a server. Read it with `readLocalAccess`. */
export type LocalAccess = {
  readonly url: string
  /** Acts as `localScope`. */
  readonly token: string
  /** Opens the operator routes and nothing else. Only with `upkeep`. */
  readonly operatorToken?: string
  /** Where the studio is. Only with `studio`. */
  readonly studioUrl?: string
}

/**
 * The secrets of one server run, written to a file that only its owner can read: one for `localScope`, one for
 * operators.
 */
export class LocalToken {
  readonly #file: string
  readonly #token = newSecret()
  readonly #operatorToken: string | null

  constructor(file: string, { hasOperators = false }: { readonly hasOperators?: boolean } = {}) {
    this.#file = file
    this.#operatorToken = hasOperators ? newSecret() : null
  }

  get hasOperators(): boolean {
    return this.#operatorToken !== null
  }

  isOfUser(given: string | null): boolean {
    return given !== null && isSameSecret(given, this.#token)
  }

  isOfOperator(given: string | null): boolean {
    return given !== null && this.#operatorToken !== null && isSameSecret(given, this.#operatorToken)
  }

  /** Writes the file. Only its owner can read it, from the moment it exists. */
  async write(url: string, studioUrl: string | null = null): Promise<void> {
    await makeFolder(dirname(this.#file), { mode: 0o700 })
    const draft = `${this.#file}.${process.pid}.${randomBytes(4).toString('hex')}`
    const operator = this.#operatorToken === null ? {} : { operatorToken: this.#operatorToken }
    const access: LocalAccess = { url, token: this.#token, ...operator, ...(studioUrl !== null && { studioUrl }) }
    await writeFile(draft, `${JSON.stringify(access)}\n`, { mode: 0o600, flag: 'wx' })
    await chmod(draft, 0o600)
    await rename(draft, this.#file)
  }

  /** Keeps the file when another server has written its own there. */
  async remove(): Promise<void> {
    const access = await readLocalAccess(this.#file).catch(() => null)
    if (access && isSameSecret(access.token, this.#token)) await rm(this.#file, { force: true })
  }
}

/**
 * Reads what `serve` wrote to `localTokenFile`. Rejects when there is no file, which means that no server is running.
 */
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
 * Creates a folder and its missing parents. Node's `recursive` option loops forever under a folder that accepts no
 * children, such as /proc.
 */
export async function makeFolder(path: string, options: { readonly mode?: number } = {}): Promise<void> {
  const above = dirname(path)
  if (above !== path && !existsSync(above)) await makeFolder(above, options)
  try {
    await mkdir(path, options)
  } catch (error) {
    // It existed, or another process created it first.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}

/** The secrets of one server run: those in its token file, and those of the pages that signed in. */
export class LocalSecrets {
  readonly #token: LocalToken
  readonly #signIn: StudioSignIn | null

  constructor(token: LocalToken, signIn: StudioSignIn | null) {
    this.#token = token
    this.#signIn = signIn
  }

  isOfUser(given: string | null): boolean {
    return this.#token.isOfUser(given) || this.#signIn?.isOfUser(given) === true
  }

  isOfOperator(given: string | null): boolean {
    return this.#token.isOfOperator(given) || this.#signIn?.isOfOperator(given) === true
  }

  /**
   * Whether a request may have a new sign-in code. A code stands for both secrets, so only a holder of the file, which has
   * both, may ask for one: a page that signed in cannot make another.
   */
  mayIssue(request: Request): boolean {
    const isOperator = !this.#token.hasOperators || this.#token.isOfOperator(operatorToken(request))
    return isOperator && this.#token.isOfUser(bearerToken(request))
  }
}
