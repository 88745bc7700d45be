import { encode } from '../log/codec.ts'

export function json(value: unknown, status = 200): Response {
  return new Response(jsonText(value), { status, headers: { 'content-type': 'application/json' } })
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
