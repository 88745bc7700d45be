import { isRecord } from '../base/untrusted.ts'

/** How long the headers of an answer ask to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: unknown, now: number): number | null {
  const exact = Number.parseFloat(header(headers, 'retry-after-ms') ?? '')
  if (Number.isFinite(exact)) return Math.max(0, exact)
  const value = header(headers, 'retry-after')?.trim() ?? ''
  if (/^-?\d+(\.\d+)?$/.test(value)) return Math.max(0, Number(value) * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

function header(headers: unknown, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name)
  if (!isRecord(headers)) return null
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' || typeof found === 'number' ? String(found) : null
}
