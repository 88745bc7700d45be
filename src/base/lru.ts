type LruOptions<Value> = {
  readonly entries: number
  /** Total weight of all values. Default: no limit. */
  readonly bytes?: number
  /** Default: values have no weight. */
  readonly weigh?: (value: Value) => number
}

/**
 * Keeps the values that were set last: at most `entries`, with a total weight of at most `bytes`, but always the newest
 * one. Setting a value again renews it; reading it does not.
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
