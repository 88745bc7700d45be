type LruOptions<Value> = {
  readonly entries: number
  /** How heavy all values together may be. Default: no limit. */
  readonly bytes?: number
  /** Default: values weigh nothing. */
  readonly weigh?: (value: Value) => number
}

/**
 * The values that were set last: no more than `entries`, and together no heavier than `bytes`; but always the newest. Reading a value does not renew it;
 * setting it again does.
 */
export class Lru<Value> {
  readonly #entries: number
  readonly #maxBytes: number
  readonly #weigh: (value: Value) => number
  readonly #kept = new Map<string, { readonly value: Value; readonly bytes: number }>()
  #bytes = 0

  constructor({ entries, bytes = Number.POSITIVE_INFINITY, weigh = () => 0 }: LruOptions<Value>) {
    this.#entries = entries
    this.#maxBytes = bytes
    this.#weigh = weigh
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Value | undefined {
    return this.#kept.get(key)?.value
  }

  /** Oldest first. */
  values(): Value[] {
    return Array.from(this.#kept.values(), ({ value }) => value)
  }

  set(key: string, value: Value): void {
    this.delete(key)
    const bytes = this.#weigh(value)
    this.#kept.set(key, { value, bytes })
    this.#bytes += bytes
    while (this.#kept.size > 1 && (this.#kept.size > this.#entries || this.#bytes > this.#maxBytes)) {
      this.delete(this.#kept.keys().next().value!)
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}
