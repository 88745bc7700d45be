/** Names bytes kept in the store. Events hold these, never the bytes. */
export type BlobRef = {
  /** SHA-256 of the bytes, 64 lower-case hexadecimal digits. */
  readonly blob: string
  readonly mediaType: string
  readonly size: number
}

export function isBlobRef(value: unknown): value is BlobRef {
  if (typeof value !== 'object' || value === null) return false
  const { blob, mediaType, size } = value as Partial<BlobRef>
  return (
    typeof blob === 'string' &&
    /^[0-9a-f]{64}$/.test(blob) &&
    typeof mediaType === 'string' &&
    Number.isSafeInteger(size)
  )
}
