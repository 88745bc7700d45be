import type { Json } from '../json.ts'

export type Path = readonly (string | number)[]

/** How many issues are kept for the message. The rest are counted. */
const maxKept = 10
const maxText = 200
const maxKey = 60

/**
 * Issues of a value, in the order in which they were found. Issues of an alternative are discarded when another one
 * fits.
 */
export class Issues {
  readonly #kept: string[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** `why` is called only for issues that are kept. */
  add(path: Path, why: () => string): void {
    if (this.#kept.length < maxKept) this.#kept.push(at(path, why()))
    this.#count += 1
  }

  /** Inserts an issue after the first `count`. */
  insert(count: number, path: Path, why: () => string): void {
    if (count < maxKept) {
      this.#kept.splice(count, 0, at(path, why()))
      this.#kept.length = Math.min(this.#kept.length, maxKept)
    }
    this.#count += 1
  }

  truncate(count: number): void {
    this.#count = count
    this.#kept.length = Math.min(this.#kept.length, count)
  }

  /** One line. `isCut`: there may be more issues that were not looked for. */
  text(isCut: boolean): string {
    const more = this.#count - this.#kept.length
    if (more > 0) return `${this.#kept.join('; ')}; and ${more} more`
    if (!isCut) return this.#kept.join('; ')
    return this.#count === 0 ? 'it does not fit' : `${this.#kept.join('; ')}; and perhaps more`
  }
}

/** Puts the path before a message, as in 'order.items[2]: must be a string'. */
export function at(path: readonly PropertyKey[], message: string): string {
  let place = ''
  for (const key of path) {
    const isIndex = typeof key === 'number' || (typeof key === 'string' && /^\d+$/.test(key))
    place += isIndex ? `[${String(key)}]` : `${place === '' ? '' : '.'}${clip(String(key), maxKey)}`
  }
  return place === '' ? message : `${place}: ${message}`
}

/** A value as JSON, clipped to one line. */
export function shown(value: Json): string {
  let text = ''
  const write = (part: Json): void => {
    if (text.length > maxText) return
    if (typeof part !== 'object' || part === null) text += JSON.stringify(typeof part === 'string' ? clip(part) : part)
    else if (Array.isArray(part)) list('[', part, ']', write)
    else
      list('{', Object.keys(part), '}', (key) => {
        text += `${JSON.stringify(clip(key))}:`
        write((part as { readonly [key: string]: Json })[key]!)
      })
  }
  const list = <T>(open: string, items: readonly T[], close: string, each: (item: T) => void): void => {
    text += open
    for (let index = 0; index < items.length && text.length <= maxText; index++) {
      if (index > 0) text += ','
      each(items[index]!)
    }
    text += close
  }
  write(value)
  return clip(text)
}

export function clip(text: string, length = maxText): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text
}
