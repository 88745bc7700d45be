/**
 * A copy that shares no object with the log or with another prompt: providers, middleware and hooks may do with a prompt what they like.
 * Bytes and addresses of files are not copied.
 */
export function ownCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(ownCopy) as T
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  // A key may be '__proto__': it is an own one after this, and stays so when it is set.
  const copy = { ...value }
  for (const key of Object.keys(copy) as (keyof T)[]) {
    if (typeof copy[key] === 'object') copy[key] = ownCopy(copy[key])
  }
  return copy
}
