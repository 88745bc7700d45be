/** The value of `next`, made of the objects of `before` wherever they are equal, so that components that have seen them need not render. Both are JSON. */
export function keepIdentity<T>(before: unknown, next: T): T {
  if (Object.is(before, next)) return next
  if (Array.isArray(before) && Array.isArray(next)) return keepItems(before, next) as T
  if (!isObject(before) || !isObject(next)) return next
  const names = Object.keys(next)
  // A model may name an argument `__proto__`: entries keep it as a key, and only keys of its own are compared.
  const kept = names.map((name): [string, unknown] => [
    name,
    keepIdentity(Object.hasOwn(before, name) ? before[name] : undefined, next[name]),
  ])
  const isSame =
    names.length === Object.keys(before).length &&
    kept.every(([name, value]) => Object.hasOwn(before, name) && Object.is(value, before[name]))
  return (isSame ? before : Object.fromEntries(kept)) as T
}

/** Like `keepIdentity` for a list whose items have keys: an item is compared with the one of the same key. */
export function keepByKey<T>(before: readonly T[], next: readonly T[], keyOf: (item: T) => unknown): readonly T[] {
  if (before === next) return next
  const known = new Map(before.map((item) => [keyOf(item), item]))
  const kept = next.map((item) => keepIdentity(known.get(keyOf(item)), item))
  return sameItems(before, kept) ? before : kept
}

function keepItems(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const kept = next.map((item, index) => keepIdentity(before[index], item))
  return sameItems(before, kept) ? before : kept
}

function sameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => Object.is(item, other[index]))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
