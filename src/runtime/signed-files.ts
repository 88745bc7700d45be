import type { Signer } from '../base/signer.ts'
import type { EngineNode } from '../engine/node.ts'
import type { ConversationRef } from '../store/records.ts'
import { inspect, type StoredFile } from './read/inspect.ts'

/**
 * Addresses of files that work without an identity, for half an hour to an hour: a page of another origin cannot send one
 * with an `<img>`. For servers. Who has such an address may read the file until it expires.
 */
export type SignedFiles = {
  /** Changes when addresses get a later expiry. Until then, a file has one address. */
  window(): number
  /** The signature of a file that the conversation has shown. Must be given only to those who may read it. */
  sign(ref: ConversationRef, blob: string): string
  /** Whether the signature is for this file and has not expired. */
  isSigned(id: string, blob: string, signature: string): boolean
  /** Null when the signature is not valid, or the conversation shows no such file any more. */
  open(id: string, blob: string, signature: string): Promise<StoredFile | null>
}

const windowMs = 30 * 60_000

export function signedFiles({ store, clock, signer, logger }: EngineNode): SignedFiles {
  let hasWarned = false
  const window = (): number => Math.floor(clock.now() / windowMs)

  function tenantOf(id: string, blob: string, given: string): string | null {
    const parts = typeof given === 'string' ? /^(\d{1,9})\.([\w-]*)\.([\w-]{43})$/.exec(given) : null
    const [, expires = '', encoded = '', signature = ''] = parts ?? []
    const isFresh = expires !== '' && Number(expires) > window() && Number(expires) <= window() + 2
    if (!isFresh) return null
    const tenant = Buffer.from(encoded, 'base64url').toString('utf8')
    if (signer.isSigned('file', signedText({ tenant, id }, blob, expires), signature)) return tenant
    if (signer.isTemporary && !hasWarned) {
      hasWarned = true
      logger.warn('the signed address of a file was refused; without a secret, each process knows only its own', { id })
    }
    return null
  }

  return {
    window,
    sign(ref, blob) {
      const expires = String(window() + 2)
      const signature = signer.sign('file', signedText(ref, blob, expires))
      return `${expires}.${Buffer.from(ref.tenant, 'utf8').toString('base64url')}.${signature}`
    },
    isSigned: (id, blob, signature) => tenantOf(id, blob, signature) !== null,
    async open(id, blob, signature) {
      const tenant = tenantOf(id, blob, signature)
      return tenant === null ? null : inspect(store.forTenant(tenant), { tenant, id }).file(blob)
    },
  }
}

/** As JSON, so that no two files have one text. */
function signedText({ tenant, id }: ConversationRef, blob: string, expires: string): string {
  return JSON.stringify([tenant, id, blob, expires])
}

/** Signs values that a caller receives and sends back with its next request. For servers. Other processes need the same `secret`. */
export type StateSigner = {
  sign(text: string): string
  isSigned(text: string, signature: unknown): boolean
}

export function stateSigner(signer: Pick<Signer, 'sign' | 'isSigned'>): StateSigner {
  return {
    sign: (text) => signer.sign('state', text),
    isSigned: (text, signature) => signer.isSigned('state', text, signature),
  }
}
