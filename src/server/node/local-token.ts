import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { bearerToken, isSameSecret } from '../guard/secret.ts'

/** What tools on the same machine need to talk to a server: read it from its file. */
export type LocalAccess = { readonly url: string; readonly token: string }

/** A secret of this run, for whoever can read a file of its owner. */
export class LocalToken {
  readonly #file: string
  readonly #token = randomBytes(32).toString('base64url')

  constructor(file: string) {
    this.#file = file
  }

  isIn(request: Request): boolean {
    const given = bearerToken(request)
    return given !== null && isSameSecret(given, this.#token)
  }

  /** Readable by its owner alone, from the first moment on. */
  async write(url: string): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const draft = `${this.#file}.${process.pid}.${randomBytes(4).toString('hex')}`
    await writeFile(draft, `${JSON.stringify({ url, token: this.#token })}\n`, { mode: 0o600, flag: 'wx' })
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
  return JSON.parse(await readFile(file, 'utf8')) as LocalAccess
}
