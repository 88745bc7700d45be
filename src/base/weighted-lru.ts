export type LruLimits = { readonly entries: number; readonly bytes: number }

/** The values used last: no more than so many, and no heavier together than so many bytes; but always the newest. */
export class WeightedLru<Value> {
  readonly #limits: LruLimits
  readonly #weigh: (value: Value) => number
  readonly #kept = new Map<string, { readonly value: Value; readonly bytes: number }>()
  #bytes = 0

  constructor(limits: LruLimits, weigh: (value: Value) => number) {
    this.#limits = limits
    this.#weigh = weigh
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Value | undefined {
    return this.#kept.get(key)?.value
  }

  set(key: string, value: Value): void {
    this.delete(key)
    const bytes = this.#weigh(value)
    this.#kept.set(key, { value, bytes })
    this.#bytes += bytes
    while (this.#kept.size > 1 && (this.#kept.size > this.#limits.entries || this.#bytes > this.#limits.bytes)) {
      this.delete(this.#kept.keys().next().value!)
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}
