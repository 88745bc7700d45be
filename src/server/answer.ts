import { encode } from '../log/codec.ts'

/** What goes to the socket at once: a client that is slow holds back the rest. */
const pieceBytes = 64 * 1024

export function json(value: unknown, status = 200): Response {
  return bytesAnswer([Buffer.from(jsonText(value))], { 'content-type': 'application/json' }, status)
}

/** An answer of bytes that are there already, sent piece by piece. */
export function bytesAnswer(
  parts: readonly Uint8Array[],
  headers: Readonly<Record<string, string>>,
  status = 200,
): Response {
  const length = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const body = length > pieceBytes ? inPieces(parts) : Buffer.concat(parts)
  return new Response(body, { status, headers: { ...headers, 'content-length': String(length) } })
}

function inPieces(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const pieces = piecesOf(parts)
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array, void> {
  for (const part of parts) {
    for (let from = 0; from < part.byteLength; from += pieceBytes) yield part.subarray(from, from + pieceBytes)
  }
}

/** Values from the log must come out as they went in, so they are written with its codec. */
export function jsonText(value: unknown): string {
  return encode(plain(value))
}

export function empty(): Response {
  return new Response(null, { status: 204 })
}

/** Without members that are undefined, as JSON has it. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(kept.map(([key, member]) => [key, plain(member)]))
}
