/** Text that differs when two values differ in anything a log must keep: -0, key order, lone surrogates, own `__proto__`. */
export function show(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  if (value === undefined) return 'undefined'
  if (value === null || typeof value !== 'object') return quote(value)
  if (Array.isArray(value)) return `[${value.map(show).join(',')}]`
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('hex')})`
  const prototype = Object.getPrototypeOf(value)
  const name = prototype === Object.prototype || prototype === null ? '' : String(prototype?.constructor?.name)
  return `${name}{${Object.entries(value)
    .map(([key, member]) => `${quote(key)}:${show(member)}`)
    .join(',')}}`
}

function quote(value: unknown): string {
  return typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function'
    ? `${typeof value} ${String(value)}`
    : (JSON.stringify(value) ?? String(value))
}
