import type { Failure } from '../harness/failure.ts'

/** Whatever the disk or the server does, the caller meets a `StoreError`. */
export function checkFailures(failures: readonly Failure[]): string[] {
  const others = failures.filter((failure) => !failure.isStoreError)
  const kinds = Map.groupBy(others, ({ name, code, message }) => `${name} (${code}): ${message}`)
  return [...kinds].map(([kind, { length }]) => `${length} times the caller met ${kind}`)
}

export function countFailures(failures: readonly Failure[]): { failures: number; ambiguous: number } {
  return { failures: failures.length, ambiguous: failures.filter((failure) => failure.isAmbiguous).length }
}
