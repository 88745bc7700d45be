import type { PageBounds } from '../store.ts'

type Shape = {
  /** What the statement returns. */
  readonly columns: string
  readonly order: string
  /** The same by the names it returns. Default: they are the same. */
  readonly returnedOrder?: string
  /** The columns whose bytes count; null counts nothing. */
  readonly bytes: readonly string[]
}

/**
 * Bounds a statement: as many rows as fit, and at least one. The database counts bytes without fetching what is stored out of line, so that a page costs no
 * more than what it returns. A page without a limit counts its whole range.
 */
export class Page {
  readonly #bounds: PageBounds
  readonly values: unknown[]

  constructor(bounds: PageBounds, values: readonly unknown[]) {
    this.#bounds = bounds
    this.values = [...values]
  }

  /** Adds its own values to those of the statement. Called once. */
  within(select: string, { columns, order, returnedOrder = order, bytes }: Shape): string {
    const { limit, maxBytes } = this.#bounds
    const limited = limit === undefined ? '' : `LIMIT ${this.#place(limit)}`
    if (maxBytes === undefined) return `${select} ORDER BY ${order} ${limited}`
    const size = bytes.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ')
    return `SELECT ${columns} FROM (
        SELECT *, row_number() OVER rows AS place, sum(${size}) OVER rows AS total
        FROM (${select} ORDER BY ${order} ${limited}) AS found WINDOW rows AS (ORDER BY ${returnedOrder} ROWS UNBOUNDED PRECEDING)
      ) AS counted WHERE place = 1 OR total <= ${this.#place(maxBytes)} ORDER BY ${returnedOrder}`
  }

  /** A name for each form of the statement. */
  named(name: string): string {
    const { limit, maxBytes } = this.#bounds
    return `${name}${limit === undefined ? '' : '_limited'}${maxBytes === undefined ? '' : '_bounded'}`
  }

  #place(value: unknown): string {
    return `$${this.values.push(value)}`
  }
}
