const brand = Symbol.for('perdure.agent')

/** Marks what `defineAgent` made, also across two copies of the package. */
export function brandAgent<T extends object>(agent: T): Readonly<T> {
  return Object.freeze(Object.defineProperty(agent, brand, { value: true }))
}

export function isAgent(value: unknown): value is { readonly name: string } {
  return typeof value === 'object' && value !== null && brand in value
}
