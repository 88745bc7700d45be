/** What the suite needs of a test runner. vitest and jest fit as they are, `node:test` with the `expect` package. */
export type TestRunner = {
  describe(name: string, body: () => void): unknown
  test: TestFunction
  expect(actual: unknown): Matchers
  /** Where it is there, cases that leave no trace share a store, which makes the suite faster where opening one is slow. */
  afterAll?(body: () => Promise<void>): unknown
}

/** Declares a case, or one that is shown as skipped. */
export type TestFunction = {
  (name: string, body: () => Promise<void>): unknown
  skip(name: string, body: () => Promise<void>): unknown
}

/** The matchers the suite uses; each throws when it does not hold. */
export type Matchers = {
  toBe(expected: unknown): unknown
  toEqual(expected: unknown): unknown
  toMatchObject(expected: object): unknown
  toBeGreaterThan(expected: number): unknown
  toBeGreaterThanOrEqual(expected: number): unknown
  toBeLessThan(expected: number): unknown
}
