import type { Json } from '../base/json.ts'
import { isBlobRef } from './blob-ref.ts'

/** The hashes of all blob refs anywhere in a value, each once. */
export function blobRefsIn(value: Json): string[] {
  const found = new Set<string>()
  collect(value, found)
  return [...found]
}

function collect(value: Json, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  if (isBlobRef(value)) found.add(value.blob)
  for (const member of Object.values(value)) collect(member, found)
}
