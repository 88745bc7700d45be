import type { Json } from '../../base/json.ts'
import { ownCopy } from './own-copy.ts'

/** A copy without lone surrogates: the log keeps them, and providers refuse a request that has one. Shares no object with the log. */
export function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (isWellFormed(value)) return ownCopy(value)
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]))
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  for (const key of Object.keys(value)) {
    if (!key.isWellFormed() || !isWellFormed((value as { readonly [key: string]: Json })[key]!)) return false
  }
  return true
}
