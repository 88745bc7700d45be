/** Says what is wrong with a value, beginning with its path; null when nothing is. */
export type Check = (value: unknown, path: string) => string | null

/** One check per field; others are let through, because a newer version may have written them. */
export function object<T>(fields: { readonly [Field in keyof T]-?: Check }): Check {
  const entries = Object.entries<Check>(fields)
  return (value, path) => {
    if (!isObject(value)) return must(path, 'be an object', value)
    return firstProblem(entries, ([field, check]) => check(own(value, field), `${path}.${field}`))
  }
}

/** An object whose `tag` decides what else it must have. */
export function union(tag: string, variants: { readonly [name: string]: Check }): Check {
  return (value, path) => {
    if (!isObject(value)) return must(path, 'be an object', value)
    const name = String(own(value, tag))
    const variant = Object.hasOwn(variants, name) ? variants[name] : undefined
    if (variant) return variant(value, path)
    return must(`${path}.${tag}`, `be one of ${Object.keys(variants).join(', ')}`, own(value, tag))
  }
}

export function list(item: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return must(path, 'be a list', value)
    return firstProblem(Array.from(value.entries()), ([index, member]) => item(member, `${path}[${index}]`))
  }
}

export function optional(check: Check): Check {
  return (value, path) => (value === undefined ? null : check(value, path))
}

export function nullable(check: Check): Check {
  return (value, path) => (value === null ? null : check(value, path))
}

export function either(first: Check, second: Check): Check {
  return (value, path) => first(value, path) && second(value, path)
}

export function oneOf(...allowed: readonly (string | boolean)[]): Check {
  return (value, path) =>
    allowed.includes(value as string | boolean) ? null : must(path, `be one of ${allowed.join(', ')}`, value)
}

export function whole(min: number): Check {
  return (value, path) =>
    Number.isSafeInteger(value) && (value as number) >= min
      ? null
      : must(path, `be a whole number of at least ${min}`, value)
}

export const text: Check = (value, path) => (typeof value === 'string' ? null : must(path, 'be a string', value))

export const id: Check = (value, path) =>
  typeof value === 'string' && value !== '' ? null : must(path, 'be a string that is not empty', value)

/** Whether it is JSON all the way down is the codec's to say. */
export const json: Check = (value, path) => (value === undefined ? must(path, 'be JSON', value) : null)

function firstProblem<T>(items: readonly T[], problemOf: (item: T) => string | null): string | null {
  for (const item of items) {
    const problem = problemOf(item)
    if (problem) return problem
  }
  return null
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function own(value: object, field: string): unknown {
  return Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined
}

function must(path: string, rule: string, value: unknown): string {
  return `'${path}' must ${rule}, not ${described(value)}`
}

function described(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
