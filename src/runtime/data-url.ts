/** Of the bytes. More is for a `Uint8Array`. */
export const maxDataUrlBytes = 16 * 1024 * 1024

/** The bytes that a `data:` URL holds; null when it is none that can be read, or holds too many. */
export function bytesOfDataUrl(url: string): Uint8Array | null {
  const comma = url.indexOf(',')
  if (comma < 0 || url.length > 2 * maxDataUrlBytes) return null
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, Math.min(comma, 1_000)))
  const bytes = isBase64 ? fromBase64(url.slice(comma + 1)) : percentDecoded(url.slice(comma + 1))
  return bytes && bytes.byteLength <= maxDataUrlBytes ? bytes : null
}

function fromBase64(text: string): Uint8Array | null {
  const plain = text.includes('%') ? Buffer.from(percentDecoded(text)).toString('latin1') : text
  return /^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(plain) ? new Uint8Array(Buffer.from(plain, 'base64')) : null
}

/** A percent sign that begins no byte stands for itself, as in browsers. */
function percentDecoded(text: string): Uint8Array {
  const given = Buffer.from(text, 'utf8')
  const bytes = new Uint8Array(given.length)
  let length = 0
  for (let index = 0; index < given.length; index++) {
    const code = given[index] === percent ? hexAt(given, index + 1) : null
    bytes[length++] = code ?? given[index]!
    if (code !== null) index += 2
  }
  return bytes.slice(0, length)
}

const percent = 0x25

function hexAt(bytes: Buffer, index: number): number | null {
  const text = bytes.toString('latin1', index, index + 2)
  return /^[0-9a-f]{2}$/i.test(text) ? Number.parseInt(text, 16) : null
}
