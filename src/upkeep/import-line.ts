import { ImportInvalidError, ImportTooNewError } from '../base/errors/store-errors.ts'
import { encode } from '../log/codec.ts'
import { exportFormat, exportVersion, textSuffix } from './export-line.ts'

/** A line of an export, parsed as JSON. Reads its fields, and throws with the line number when one is wrong. */
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

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name)
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

export type Line = { readonly number: number; readonly text: string }

const newline = 0x0a
/** Far longer than any row; without it, input that is not text would be buffered forever. */
const longestLine = 256 * 1024 * 1024

/** Splits a stream of bytes into lines, with their newlines; only a cut-off last line has none. Refuses bytes that are not UTF-8. */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line> {
  let number = 0
  let rest: Uint8Array[] = []
  let length = 0
  const take = (last: Uint8Array): Line => {
    number += 1
    const bytes = rest.length === 0 ? last : Buffer.concat([...rest, last])
    rest = []
    length = 0
    return { number, text: decoded(bytes, number) }
  }
  for await (const chunk of chunks) {
    let bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline)) {
      yield take(bytes.subarray(0, end + 1))
      bytes = bytes.subarray(end + 1)
    }
    if (bytes.byteLength === 0) continue
    // A copy: the caller may reuse the chunk's memory.
    rest.push(Uint8Array.from(bytes))
    length += bytes.byteLength
    if (length > longestLine) throw new ImportInvalidError(number + 1, `it is longer than ${longestLine} bytes`)
  }
  if (rest.length > 0) yield take(new Uint8Array(0))
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array, number: number): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    throw new ImportInvalidError(number, 'it is not UTF-8', { cause: error })
  }
}
