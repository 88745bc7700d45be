import { ImportInvalidError, ImportTooNewError } from '../base/errors/upkeep-errors.ts'
import { encode } from '../log/codec.ts'
import { exportFormat, exportVersion, textSuffix } from './export-line.ts'
import type { Line } from './read-lines.ts'

/** A line that has been read as JSON. Reads its fields, and says where one is not what it must be. */
export class ImportLine {
  readonly number: number
  readonly text: string
  readonly #fields: { readonly [name: string]: unknown }

  constructor({ number, text }: Line) {
    this.number = number
    this.text = text
    if (!text.endsWith('\n')) throw this.invalid('it is cut off')
    this.#fields = this.#parse(text)
  }

  get type(): string {
    return this.string('line')
  }

  invalid(problem: string): ImportInvalidError {
    return new ImportInvalidError(this.number, problem)
  }

  string(name: string): string {
    const value = this.#fields[name]
    if (typeof value !== 'string') throw this.invalid(`'${name}' is not a string`)
    return value
  }

  stringOrNull(name: string): string | null {
    return this.#fields[name] === null ? null : this.string(name)
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T {
    const value = this.#fields[name]
    if (!allowed.includes(value as T)) throw this.invalid(`'${name}' is not one of ${allowed.join(', ')}`)
    return value as T
  }

  whole(name: string, min = 0): number {
    const value = this.#fields[name]
    if (!Number.isSafeInteger(value) || (value as number) < min) {
      throw this.invalid(`'${name}' is not a whole number of at least ${min}`)
    }
    return value as number
  }

  wholeOrNull(name: string): number | null {
    return this.#fields[name] === null ? null : this.whole(name)
  }

  boolean(name: string): boolean {
    const value = this.#fields[name]
    if (typeof value !== 'boolean') throw this.invalid(`'${name}' is not true or false`)
    return value
  }

  /** The text of a value, exactly as it was stored. */
  json(name: string): string {
    const text = this.jsonOrNull(name)
    if (text === null) throw this.invalid(`'${name}' is missing`)
    return text
  }

  jsonOrNull(name: string): string | null {
    if (Object.hasOwn(this.#fields, `${name}${textSuffix}`)) return this.string(`${name}${textSuffix}`)
    return Object.hasOwn(this.#fields, name) ? this.#encoded(name) : null
  }

  #encoded(name: string): string {
    try {
      return encode(this.#fields[name], name)
    } catch (cause) {
      throw new ImportInvalidError(this.number, `'${name}' cannot be stored`, { cause })
    }
  }

  /** Must be the first line. */
  checkHeader(): void {
    if (this.#fields['format'] !== exportFormat) throw this.invalid('it is not the first line of an export of perdure')
    const version = this.whole('version', 1)
    if (version > exportVersion) throw new ImportTooNewError(version, exportVersion)
  }

  #parse(text: string): { readonly [name: string]: unknown } {
    try {
      const value: unknown = JSON.parse(text)
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
    } catch (error) {
      throw new ImportInvalidError(this.number, 'it is not JSON', { cause: error })
    }
    throw this.invalid('it is not a JSON object')
  }
}
