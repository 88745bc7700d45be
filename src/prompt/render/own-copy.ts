import type { Json } from '../../base/json.ts'

/** Shares no object with the log: nothing that providers, middleware and hooks do to a prompt may reach it. */
export function ownCopy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ownCopy)
  // A key may be '__proto__': it is an own one after this, and stays so when it is set.
  const copy = { ...value } as { [key: string]: Json }
  for (const key of Object.keys(copy)) {
    const member = copy[key]!
    if (typeof member === 'object') copy[key] = ownCopy(member)
  }
  return copy
}
