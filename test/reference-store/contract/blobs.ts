import type { Json } from '../../../src/base/json.ts'
import type { Tenant } from './state.ts'

/** A blob stays while an event of the tenant refers to it, or was put and is not referred to yet. */
export function putBlob(tenant: Tenant, hash: string, bytes: Uint8Array, mediaType: string): void {
  const known = tenant.blobs.get(hash)
  if (known) known.pins += 1
  else tenant.blobs.set(hash, { bytes, mediaType, pins: 1, references: new Map() })
}

/** A commit refers from its first event on: a fork that cuts it in two may keep a blob of the other half, never lose one. */
export function referTo(
  tenant: Tenant,
  id: string,
  events: readonly { readonly content: Json }[],
  firstSeq: number,
): void {
  for (const hash of new Set(events.flatMap(({ content }) => hashesIn(content)))) {
    const blob = tenant.blobs.get(hash)
    if (!blob) continue
    blob.pins = Math.max(0, blob.pins - 1)
    if (!blob.references.has(id)) blob.references.set(id, firstSeq)
  }
}

/** Removes blobs without references after a conversation is gone. */
export function forgetReferences(tenant: Tenant, id: string): void {
  for (const [hash, blob] of tenant.blobs) {
    if (blob.references.delete(id) && blob.references.size === 0 && blob.pins === 0) tenant.blobs.delete(hash)
  }
}

function hashesIn(value: Json): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = !Array.isArray(value) && isRef(value as Readonly<Record<string, Json>>)
  const inner = Object.values(value).flatMap(hashesIn)
  return own ? [String((value as { blob: Json }).blob), ...inner] : inner
}

function isRef({ blob, mediaType, size }: Readonly<Record<string, Json>>): boolean {
  return (
    typeof blob === 'string' && /^[0-9a-f]{64}$/.test(blob) && typeof mediaType === 'string' && Number.isInteger(size)
  )
}
