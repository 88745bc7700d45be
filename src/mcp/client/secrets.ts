/** What is not hidden: shorter texts are parts of ordinary words. */
const leastCharacters = 8

/** Takes what a server was given as headers or environment out of what it says. */
export class Secrets {
  readonly #known = new Set<string>()

  /** Each value, and each long word in it: `Bearer abc` is also told as `abc`. */
  add(values: readonly string[]): void {
    for (const value of values) {
      for (const part of [value, ...value.split(/\s+/)]) if (part.length >= leastCharacters) this.#known.add(part)
    }
    // A token that changes with each request must not fill the memory.
    while (this.#known.size > mostKnown) this.#known.delete(this.#known.values().next().value!)
  }

  hide(text: string): string {
    let hidden = text
    for (const secret of this.#known) hidden = hidden.replaceAll(secret, '[redacted]')
    return hidden
  }

  /** In all texts and keys of a value. Must be given JSON that is not nested deeply. */
  hideIn<T>(value: T): T {
    if (this.#known.size === 0) return value
    return this.#hideIn(value) as T
  }

  #hideIn(value: unknown): unknown {
    if (typeof value === 'string') return this.hide(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((member) => this.#hideIn(member))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [this.hide(key), this.#hideIn(member)]))
  }
}

const mostKnown = 200
