import { show } from './show.ts'
import { Span } from './span.ts'

/** A stored value: it must come back with the same key order, the same zero, the same everything. */
export class Exact {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Where `actual` is not what the reference expects; null when it is. Learns the times it meets. */
export function difference(actual: unknown, expected: unknown, path = 'result'): string | null {
  if (expected instanceof Span) return at(path, expected.learn(actual))
  if (expected instanceof Exact) return exactDifference(actual, expected.value, path)
  if (typeof expected !== 'object' || expected === null || expected instanceof Uint8Array) {
    return exactDifference(actual, expected, path)
  }
  if (typeof actual !== 'object' || actual === null) return `${path}: expected ${brief(expected)}, got ${brief(actual)}`
  if (Array.isArray(expected)) return listDifference(actual, expected, path)
  return recordDifference(actual as Record<string, unknown>, expected as Record<string, unknown>, path)
}

function listDifference(actual: object, expected: readonly unknown[], path: string): string | null {
  if (!Array.isArray(actual)) return `${path}: expected a list, got ${brief(actual)}`
  for (const [index, member] of expected.entries()) {
    if (index >= actual.length) break
    const found = difference(actual[index], member, `${path}[${index}]`)
    if (found) return found
  }
  return actual.length === expected.length
    ? null
    : `${path}: expected ${expected.length} items, got ${actual.length}: ${brief(actual)}`
}

function recordDifference(
  actual: Record<string, unknown>,
  expected: Record<string, unknown>,
  path: string,
): string | null {
  const names = Object.keys(actual).sort().join()
  const expectedNames = Object.keys(expected).sort().join()
  if (names !== expectedNames) return `${path}: expected the fields ${expectedNames}, got ${names}`
  for (const name of Object.keys(expected)) {
    const found = difference(actual[name], expected[name], `${path}.${name}`)
    if (found) return found
  }
  return null
}

function exactDifference(actual: unknown, expected: unknown, path: string): string | null {
  const [left, right] = [show(actual), show(expected)]
  if (left === right) return null
  let start = 0
  while (left[start] === right[start]) start++
  const from = Math.max(0, start - 40)
  return `${path}: at character ${start}: expected …${right.slice(from, start + 80)}, got …${left.slice(from, start + 80)}`
}

function at(path: string, problem: string | null): string | null {
  return problem === null ? null : `${path}: ${problem}`
}

function brief(value: unknown): string {
  return show(value).slice(0, 300)
}
