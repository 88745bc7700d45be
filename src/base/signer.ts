import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** What a signature is for. A signature for one purpose is not valid for another. */
export type SignedPurpose = 'file' | 'cursor' | 'state' | 'live'

/**
 * What signatures are made with: a long random text, the same on all nodes. Of several, the first signs and all are
 * accepted, so that a secret can be replaced without a gap.
 */
export type Secret = string | readonly string[]

/** Signs values that this process hands out, and verifies them when a caller returns them. */
export type Signer = {
  /** True where no secret was configured: other processes, and this one after a restart, accept none of its signatures. */
  readonly isTemporary: boolean
  /** The first secret's HMAC-SHA256 of the text, as base64url. */
  sign(purpose: SignedPurpose, text: string | Uint8Array): string
  /** Compares in constant time. False for anything that is not a signature of this text, by one of the secrets. */
  isSigned(purpose: SignedPurpose, text: string | Uint8Array, signature: unknown): boolean
}

/** Shorter ones could be guessed from one signature. */
export const minSecretBytes = 32
const mostSecrets = 10

/** Without a secret, a random one for this process. Must not be given a secret that `secretProblems` objects to. */
export function createSigner(secret?: Secret): Signer {
  const secrets = secret === undefined ? [randomBytes(minSecretBytes).toString('base64url')] : [secret].flat()
  const keys = new Map<SignedPurpose, readonly Buffer[]>()
  // Each purpose has a key of its own, so the key of one can be given away without the others.
  const keysFor = (purpose: SignedPurpose): readonly Buffer[] => {
    const known = keys.get(purpose) ?? secrets.map((each) => hmac(each, `perdure/${purpose}/v1`))
    keys.set(purpose, known)
    return known
  }
  return {
    isTemporary: secret === undefined,
    sign: (purpose, text) => hmac(keysFor(purpose)[0]!, text).toString('base64url'),
    isSigned(purpose, text, signature) {
      if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return false
      const given = Buffer.from(signature, 'base64url')
      // Several spellings decode to the same bytes, and only one of them is the signature.
      if (given.toString('base64url') !== signature) return false
      // Every key is tried, so the time does not tell which one fits.
      const matches = keysFor(purpose).map((key) => timingSafeEqual(hmac(key, text), given))
      return matches.includes(true)
    },
  }
}

/** What is wrong with a configured secret. Nothing if it is `undefined`, because then there is no secret. */
export function secretProblems(name: string, secret: unknown): string[] {
  if (secret === undefined) return []
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0 || secrets.length > mostSecrets)
    return [`'${name}' must be one secret, or a list of 1 to ${mostSecrets}`]
  if (secrets.every(isLongEnough)) return []
  return [
    `'${name}' must be a random text of at least ${minSecretBytes} bytes, or a list of such texts; make one with: openssl rand -base64 32`,
  ]
}

function isLongEnough(secret: unknown): boolean {
  return typeof secret === 'string' && Buffer.byteLength(secret.trim()) >= minSecretBytes
}

function hmac(key: string | Buffer, text: string | Uint8Array): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
