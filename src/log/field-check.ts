/**
 * A rule for a value. `fits` runs on every event that is written, so it allocates nothing; one class with a `kind` is about twice as fast as a tree of
 * closures. Only a value that fails is walked a second time, for an error message that starts with the path of the bad field.
 */
export class Check {
  readonly #kind: Kind
  /** The rule of a simple value, as text that follows "must". */
  readonly #rule: string
  readonly #isRight: (value: unknown) => boolean
  readonly #min: number
  /** The field names of an object, or the tag of a union. */
  readonly #names: readonly string[]
  /** The checks of the fields, of the items, or of the wrapped value. */
  readonly #checks: readonly Check[]
  readonly #variants: ReadonlyMap<string, Check>

  constructor(kind: Kind, { rule = '', isRight = never, min = 0, names = [], checks = [], variants = none }: Parts) {
    this.#kind = kind
    this.#rule = rule
    this.#isRight = isRight
    this.#min = min
    this.#names = names
    this.#checks = checks
    this.#variants = variants
  }

  fits(value: unknown): boolean {
    switch (this.#kind) {
      case kinds.text:
        return typeof value === 'string'
      case kinds.id:
        return typeof value === 'string' && value !== ''
      case kinds.json:
        return value !== undefined
      case kinds.whole:
        return Number.isSafeInteger(value) && (value as number) >= this.#min
      case kinds.simple:
        return this.#isRight(value)
      case kinds.object:
        return isObject(value) && this.#misfit(value) < 0
      case kinds.union:
        return isObject(value) && (this.#variantOf(value)?.fits(value) ?? false)
      case kinds.list:
        return Array.isArray(value) && this.#misfitItem(value) < 0
      case kinds.optional:
        return value === undefined || this.#checks[0]!.fits(value)
      case kinds.nullable:
        return value === null || this.#checks[0]!.fits(value)
      case kinds.either:
        return this.#checks[0]!.fits(value) || this.#checks[1]!.fits(value)
    }
  }

  /** Describes why the value does not fit. */
  problem(value: unknown, path: string): string {
    switch (this.#kind) {
      case kinds.object: {
        if (!isObject(value)) return must(path, 'be an object', value)
        const index = this.#misfit(value)
        return this.#checks[index]!.problem(member(value, this.#names[index]!), `${path}.${this.#names[index]}`)
      }
      case kinds.union: {
        if (!isObject(value)) return must(path, 'be an object', value)
        const tag = this.#names[0]!
        const rule = `be one of ${[...this.#variants.keys()].join(', ')}`
        return this.#variantOf(value)?.problem(value, path) ?? must(`${path}.${tag}`, rule, member(value, tag))
      }
      case kinds.list: {
        if (!Array.isArray(value)) return must(path, 'be a list', value)
        const index = this.#misfitItem(value)
        return this.#checks[0]!.problem(value[index], `${path}[${index}]`)
      }
      case kinds.optional:
      case kinds.nullable:
        return this.#checks[0]!.problem(value, path)
      case kinds.either:
        return this.#checks[1]!.problem(value, path)
      default:
        return must(path, this.#rule, value)
    }
  }

  #misfit(value: object): number {
    const names = this.#names
    for (let index = 0; index < names.length; index++) {
      if (!this.#checks[index]!.fits(member(value, names[index]!))) return index
    }
    return -1
  }

  #misfitItem(items: readonly unknown[]): number {
    const item = this.#checks[0]!
    for (let index = 0; index < items.length; index++) if (!item.fits(items[index])) return index
    return -1
  }

  #variantOf(value: object): Check | undefined {
    return this.#variants.get(String(member(value, this.#names[0]!)))
  }
}

const kinds = {
  text: 0,
  id: 1,
  json: 2,
  whole: 3,
  simple: 4,
  object: 5,
  union: 6,
  list: 7,
  optional: 8,
  nullable: 9,
  either: 10,
} as const

type Kind = (typeof kinds)[keyof typeof kinds]

type Parts = {
  readonly rule?: string
  readonly isRight?: (value: unknown) => boolean
  readonly min?: number
  readonly names?: readonly string[]
  readonly checks?: readonly Check[]
  readonly variants?: ReadonlyMap<string, Check>
}

const never = (): boolean => false
const none: ReadonlyMap<string, Check> = new Map()

/** Null when the value fits. */
export function problemWith(check: Check, value: unknown, path: string): string | null {
  return check.fits(value) ? null : check.problem(value, path)
}

/** One check per field. Other fields are allowed, because a newer version may have written them. */
export function object<T>(fields: { readonly [Field in keyof T]-?: Check }): Check {
  return new Check(kinds.object, { names: Object.keys(fields), checks: Object.values<Check>(fields) })
}

/** An object whose `tag` field decides which other fields it must have. */
export function union(tag: string, variants: { readonly [name: string]: Check }): Check {
  return new Check(kinds.union, { names: [tag], variants: new Map(Object.entries(variants)) })
}

export function list(item: Check): Check {
  return new Check(kinds.list, { checks: [item] })
}

export function optional(check: Check): Check {
  return new Check(kinds.optional, { checks: [check] })
}

export function nullable(check: Check): Check {
  return new Check(kinds.nullable, { checks: [check] })
}

export function either(first: Check, second: Check): Check {
  return new Check(kinds.either, { checks: [first, second] })
}

export function oneOf(...allowed: readonly (string | boolean)[]): Check {
  return simple((value) => allowed.includes(value as string | boolean), `be one of ${allowed.join(', ')}`)
}

export function whole(min: number): Check {
  return new Check(kinds.whole, { min, rule: `be a whole number of at least ${min}` })
}

export const text = new Check(kinds.text, { rule: 'be a string' })

export const id = new Check(kinds.id, { rule: 'be a string that is not empty' })

/** Checks only for presence; the codec checks that a value is JSON all the way down. */
export const json = new Check(kinds.json, { rule: 'be JSON' })

/** `rule` is text that follows "must". */
export function simple(isRight: (value: unknown) => boolean, rule: string): Check {
  return new Check(kinds.simple, { isRight, rule })
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
