/** JSON text of (a part of) a prompt. Bytes are in blobs already; it says how many there were. */
export function promptJson(value: unknown): string {
  return JSON.stringify(value, withoutBytes)
}

/** Looks at the holder, because a Buffer is turned into a list of numbers before its value gets here. */
function withoutBytes(this: unknown, key: string, value: unknown): unknown {
  const member = (this as Record<string, unknown>)[key]
  return member instanceof Uint8Array ? `[${member.byteLength} bytes]` : value
}
