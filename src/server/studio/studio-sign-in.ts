import { createHash, randomBytes } from 'node:crypto'
import { RateLimitedError, SignInRefusedError } from '../../base/errors/server-errors.ts'
import { isSameSecret } from '../guard/secret.ts'

/** What a page gets for a code: secrets that act as `localScope` and as an operator. */
export type StudioTokens = {
  readonly token: string
  /** Only with `upkeep`. */
  readonly operatorToken?: string
}

const codeMs = 10 * 60_000
/** A code is remembered this long after its end, so that the page can be told what is wrong with it. */
const rememberedMs = 60 * 60_000
const mostCodes = 100
const mostSessions = 1_000
const refusals = { most: 10, withinMs: 60_000 }

type Code = { readonly secret: string; readonly expiresAt: number; isUsed: boolean }

/**
 * Signs pages of the studio in without a password: a code that works once is exchanged for a session. Both end with the
 * process, and neither is ever stored.
 */
export class StudioSignIn {
  readonly #hasOperators: boolean
  readonly #now: () => number
  /** The oldest first. */
  readonly #codes: Code[] = []
  /** Whose secret it is, by its digest: a lookup says nothing about the secrets. The oldest first. */
  readonly #sessions = new Map<string, 'user' | 'operator'>()
  readonly #refusedAt: number[] = []

  constructor({ hasOperators, now = Date.now }: { readonly hasOperators: boolean; readonly now?: () => number }) {
    this.#hasOperators = hasOperators
    this.#now = now
  }

  /** A new code, valid once and for ten minutes. */
  issue(): string {
    const forgotten = this.#now() - rememberedMs
    while (this.#codes.length >= mostCodes || (this.#codes[0] && this.#codes[0].expiresAt < forgotten))
      this.#codes.shift()
    const secret = randomBytes(18).toString('base64url')
    this.#codes.push({ secret, expiresAt: this.#now() + codeMs, isUsed: false })
    return secret
  }

  /** Throws `SignInRefusedError` for a code that is not valid, and `RateLimitedError` after too many of those. */
  exchange(given: string): StudioTokens {
    this.#checkRate()
    let code: Code | null = null
    // All of them, so that the time does not say which one is near.
    for (const one of this.#codes) if (isSameSecret(given, one.secret)) code = one
    if (!code) return this.#refuse('unknown')
    if (code.isUsed) return this.#refuse('used')
    if (this.#now() >= code.expiresAt) return this.#refuse('expired')
    code.isUsed = true
    return this.#open()
  }

  isOfUser(given: string | null): boolean {
    return given !== null && this.#sessions.get(digest(given)) === 'user'
  }

  isOfOperator(given: string | null): boolean {
    return given !== null && this.#sessions.get(digest(given)) === 'operator'
  }

  /** Ends the session that these secrets belong to. */
  end(secrets: readonly (string | null)[]): void {
    for (const secret of secrets) if (secret !== null) this.#sessions.delete(digest(secret))
  }

  #open(): StudioTokens {
    const token = this.#secretFor('user')
    return this.#hasOperators ? { token, operatorToken: this.#secretFor('operator') } : { token }
  }

  #secretFor(whose: 'user' | 'operator'): string {
    const secret = randomBytes(32).toString('base64url')
    this.#sessions.set(digest(secret), whose)
    if (this.#sessions.size > 2 * mostSessions) this.#sessions.delete(this.#sessions.keys().next().value!)
    return secret
  }

  #checkRate(): void {
    while (this.#refusedAt.length > 0 && this.#refusedAt[0]! <= this.#now() - refusals.withinMs) this.#refusedAt.shift()
    if (this.#refusedAt.length < refusals.most) return
    throw new RateLimitedError(
      this.#refusedAt[0]! + refusals.withinMs - this.#now(),
      'There were too many codes that are not valid',
    )
  }

  #refuse(why: 'unknown' | 'used' | 'expired'): never {
    this.#refusedAt.push(this.#now())
    throw new SignInRefusedError(why)
  }
}

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
