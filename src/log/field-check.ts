/**
 * A rule for a value. `fits` runs on every event that is written, so it allocates nothing; `problem` runs only on what does not fit, and says what is wrong
 * with it, beginning with its path.
 */
export type Check = {
  fits(value: unknown): boolean
  problem(value: unknown, path: string): string
}

/** Null when the value fits. */
export function problemWith(check: Check, value: unknown, path: string): string | null {
  return check.fits(value) ? null : check.problem(value, path)
}

/** One check per field; others are let through, because a newer version may have written them. */
export function object<T>(fields: { readonly [Field in keyof T]-?: Check }): Check {
  const names = Object.keys(fields)
  const checks = Object.values<Check>(fields)
  const misfit = (value: object): number => {
    for (let index = 0; index < names.length; index++) {
      if (!checks[index]!.fits(member(value, names[index]!))) return index
    }
    return -1
  }
  return {
    fits: (value) => isObject(value) && misfit(value) < 0,
    problem(value, path) {
      if (!isObject(value)) return must(path, 'be an object', value)
      const index = misfit(value)
      return checks[index]!.problem(member(value, names[index]!), `${path}.${names[index]}`)
    },
  }
}

/** An object whose `tag` decides what else it must have. */
export function union(tag: string, variants: { readonly [name: string]: Check }): Check {
  const byName = new Map(Object.entries(variants))
  const variantOf = (value: object): Check | undefined => byName.get(String(member(value, tag)))
  return {
    fits: (value) => isObject(value) && (variantOf(value)?.fits(value) ?? false),
    problem(value, path) {
      if (!isObject(value)) return must(path, 'be an object', value)
      const names = [...byName.keys()].join(', ')
      return variantOf(value)?.problem(value, path) ?? must(`${path}.${tag}`, `be one of ${names}`, member(value, tag))
    },
  }
}

export function list(item: Check): Check {
  return {
    fits: (value) => Array.isArray(value) && value.every(item.fits),
    problem(value, path) {
      if (!Array.isArray(value)) return must(path, 'be a list', value)
      const index = value.findIndex((member) => !item.fits(member))
      return item.problem(value[index], `${path}[${index}]`)
    },
  }
}

export function optional(check: Check): Check {
  return { fits: (value) => value === undefined || check.fits(value), problem: check.problem }
}

export function nullable(check: Check): Check {
  return { fits: (value) => value === null || check.fits(value), problem: check.problem }
}

export function either(first: Check, second: Check): Check {
  return { fits: (value) => first.fits(value) || second.fits(value), problem: second.problem }
}

export function oneOf(...allowed: readonly (string | boolean)[]): Check {
  return simple((value) => allowed.includes(value as string | boolean), `be one of ${allowed.join(', ')}`)
}

export function whole(min: number): Check {
  return simple(
    (value) => Number.isSafeInteger(value) && (value as number) >= min,
    `be a whole number of at least ${min}`,
  )
}

export const text = simple((value) => typeof value === 'string', 'be a string')

export const id = simple((value) => typeof value === 'string' && value !== '', 'be a string that is not empty')

/** Whether it is JSON all the way down is the codec's to say. */
export const json = simple((value) => value !== undefined, 'be JSON')

/** `rule` goes on after "must". */
export function simple(fits: Check['fits'], rule: string): Check {
  return { fits, problem: (value, path) => must(path, rule, value) }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function member(value: object, field: string): unknown {
  return (value as Record<string, unknown>)[field]
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
