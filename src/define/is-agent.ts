const brand = Symbol.for('perdure.agent')

/** Marks what `defineAgent` made, also across two copies of the package, with what it was made from. */
export function brandAgent<T extends object>(agent: T, attributes: object = {}): Readonly<T> {
  return Object.freeze(Object.defineProperty(agent, brand, { value: Object.freeze({ ...attributes }) }))
}

export function isAgent(value: unknown): value is { readonly name: string } {
  return typeof value === 'object' && value !== null && brand in value
}

/** What the agent was defined with. */
export function agentAttributes(agent: object): object {
  return (agent as { readonly [brand]?: object })[brand] ?? {}
}
