/** What is not hidden: shorter texts are parts of ordinary words. */
const leastCharacters = 8
/** Of the path of an address: shorter parts of it are ordinary words. */
const leastInPath = 16
const mostKnown = 200
/** What is nested deeper is never recorded. */
const mostLevels = 500

/** Removes the headers, environment and address that a server was given from its texts. */
export class Secrets {
  /** The ones that were given last come last. */
  readonly #known = new Set<string>()
  /** A secret may be part of another; the rest of the longer one must not show. */
  #longestFirst: readonly string[] = []

  /** Each value, and each long word in it: `Bearer abc` is also told as `abc`. */
  add(values: readonly string[]): void {
    for (const value of values) {
      for (const part of [value, ...value.split(/\s+/)]) {
        if (part.length < leastCharacters) continue
        this.#known.delete(part)
        this.#known.add(part)
      }
    }
    // A token that changes with each request must not fill the memory.
    while (this.#known.size > mostKnown) this.#known.delete(this.#known.values().next().value!)
    this.#longestFirst = [...this.#known].sort((one, other) => other.length - one.length)
  }

  /** The parameters of an address, and the long parts of its path, as they are written there and as they are meant. */
  addFrom({ pathname, search, searchParams }: URL): void {
    const written = search.slice(1).split('&')
    const parts = pathname.split('/').filter((part) => part.length >= leastInPath)
    this.add([...written.map((pair) => pair.slice(pair.indexOf('=') + 1)), ...searchParams.values(), ...parts])
  }

  hide(text: string): string {
    let hidden = text
    for (const secret of this.#longestFirst) hidden = hidden.replaceAll(secret, '[redacted]')
    return hidden
  }

  /** In all texts and keys of a JSON value. */
  hideIn<T>(value: T): T {
    if (this.#known.size === 0) return value
    return this.#hideIn(value, 0) as T
  }

  #hideIn(value: unknown, level: number): unknown {
    if (typeof value === 'string') return this.hide(value)
    if (typeof value !== 'object' || value === null) return value
    if (level > mostLevels) return null
    if (Array.isArray(value)) return value.map((member) => this.#hideIn(member, level + 1))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.hide(key), this.#hideIn(member, level + 1)]),
    )
  }
}
