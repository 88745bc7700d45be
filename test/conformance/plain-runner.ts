import assert from 'node:assert/strict'
import type { Matchers, TestRunner } from '../../src/testing/test-store.ts'

export type Case = { readonly name: string; readonly body: () => Promise<void> }

/** A test runner of thirty lines: collects cases, and expects with `node:assert`. */
export function plainRunner(): { runner: TestRunner; cases: Case[]; skipped: string[] } {
  const cases: Case[] = []
  const skipped: string[] = []
  const groups: string[] = []
  const named = (name: string) => [...groups, name].join(': ')
  const test = (name: string, body: () => Promise<void>) => cases.push({ name: named(name), body })
  const runner: TestRunner = {
    describe(name, body) {
      groups.push(name)
      body()
      groups.pop()
    },
    test: Object.assign(test, { skip: (name: string) => skipped.push(named(name)) }),
    expect: matchers,
  }
  return { runner, cases, skipped }
}

function matchers(actual: unknown): Matchers {
  return {
    toBe: (expected) => assert.ok(Object.is(actual, expected), `${String(actual)} is not ${String(expected)}`),
    toEqual: (expected) => assert.deepEqual(plain(actual), plain(expected)),
    toMatchObject: (expected) => assert.partialDeepStrictEqual(actual, expected),
    toBeGreaterThan: (expected) => assert.ok((actual as number) > expected),
    toBeGreaterThanOrEqual: (expected) => assert.ok((actual as number) >= expected),
    toBeLessThan: (expected) => assert.ok((actual as number) < expected),
  }
}

/** Members that are undefined do not count, as in other runners. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
