/** What the suite needs of a test runner. vitest and jest fit as they are, `node:test` with the `expect` package. */
export type TestRunner = {
  describe(name: string, body: () => void): unknown
  test: TestFunction
  expect(actual: unknown): Matchers
  /** Where it is there, cases that leave no trace share a store, which makes the suite faster where opening one is slow. */
  afterAll?(body: () => Promise<void>): unknown
}

export type TestFunction = {
  (name: string, body: () => Promise<void>): unknown
  skip(name: string, body: () => Promise<void>): unknown
}

export type Matchers = {
  toBe(expected: unknown): unknown
  toEqual(expected: unknown): unknown
  toMatchObject(expected: object): unknown
  toBeGreaterThan(expected: number): unknown
  toBeGreaterThanOrEqual(expected: number): unknown
  toBeLessThan(expected: number): unknown
}
